#!/usr/bin/env python3
"""Explores the line of pairs of a grant: refreshes, retries in grace, reuse and restored stores.

Run it with `python3 tests/model/line_of_pairs.py`. It needs only the standard library, takes about half a minute, and ends
with status 1 if a result differs from the expected one.

A token is (number, writer), and its pair is an entry of the record. `link` leads from a superseded pair to the next one.
Times are small integers. With a grace of 2, a token that was superseded at `t` is in grace at `t` and `t + 1`. At `t + 2`
its use counts as reuse. A superseded pair stays in the record until `retention` after its last end, so that a request
that began in the grace still finds it. A token in grace never rotates: if the request cannot have the newest pair, it
gets one more access token beside that pair, and the newest refresh token.
"""
import collections
import itertools
import sys

Pair = collections.namedtuple('Pair', 'tok num end sup link aend arev scope own more')
Rec = collections.namedtuple('Rec', 'ver pairs made rev')  # pairs: newest first; rev: None or the reason
Cfg = collections.namedtuple('Cfg', 'grace agrace retention alife rlife strict room')
RULES = Cfg(grace=2, agrace=2, retention=1, alife=9, rlife=99, strict=False, room=99)
FAILED = []


def new_pair(tok, now, scope, cfg):
    return Pair(tok, tok[0], now + cfg.rlife, None, False, now + cfg.alife, False, scope, now + cfg.rlife, ())


def first(cfg, now=0):
    return Rec(0, (new_pair((1, 'x'), now, 'all', cfg),), 1, None)


def last_end(pair):
    return max(pair.end, pair.aend)


def rotate(rec, used, now, me, ask, cfg):
    """The write of a refresh with the newest token."""
    tok = (rec.made + 1, me)
    out = [new_pair(tok, now, ask or 'all', cfg)]
    for p in rec.pairs:
        if p.tok == used.tok:
            p = p._replace(sup=now, end=min(p.end, now + cfg.grace), aend=min(p.aend, now + cfg.agrace),
                           link=cfg.grace > 0)
        elif cfg.strict:
            p = p._replace(end=min(p.end, now))
        out.append(p)
    while len(out) > 1 and last_end(out[-1]) + cfg.retention <= now:  # pairs leave from the old end only
        out.pop()
    return Rec(rec.ver + 1, tuple(out), tok[0], rec.rev), tok


def judge(rec, tok, now, me, ask, cfg):
    """('no', why), ('leave', token, token) or ('write', next record, token, what shows the write in the record)."""
    if rec.rev:
        return 'no', 'revoked'
    p = next((p for p in rec.pairs if p.tok == tok), None)
    if p is None or now >= p.end:
        if p is not None and now >= p.own:
            return 'no', 'expired'
        if tok[0] > rec.made or any(q.num == tok[0] and q.tok != tok for q in rec.pairs):
            return 'no', 'went back'
        return 'no', 'REUSE'
    newest = rec.pairs[0]
    if p.sup is None:
        if sum(q.sup is not None and last_end(q) > now for q in rec.pairs) >= cfg.room:
            return 'no', '429'
        nxt, tok = rotate(rec, p, now, me, ask, cfg)
        return 'write', nxt, tok, tok
    if not all(q.link for q in rec.pairs[1:rec.pairs.index(p) + 1]):
        return 'no', 'no link'
    if (ask or 'all') == newest.scope and now < newest.aend and not newest.arev:
        return 'leave', newest.tok, newest.tok
    kept = newest._replace(more=newest.more + (me,))
    return 'write', rec._replace(ver=rec.ver + 1, pairs=(kept,) + rec.pairs[1:]), newest.tok, me


def shows(rec, mark):
    return any(p.tok == mark or mark in p.more for p in rec.pairs)


def since(old, rec):
    """When each token was first superseded, also if its pair has left the record."""
    have = dict(old)
    return old | {(p.tok, p.sup) for p in rec.pairs if p.sup is not None and p.tok not in have}


def races(cfg, workers, reqs, ticks, faults, revoker=False, asks=(None,), revoke_access=False, lag=1):
    """Every interleaving of workers with private copies, a revoker, dropped futures, lost answers and late writes.

    A request judges by the time at which it began. It lasts up to `lag`, as does a late write. Returns what went wrong.
    """
    Idle, Look, Write, Confirm = range(4)
    start = tuple((Idle, (1, 'x'), reqs, None) for _ in range(workers))
    s = (first(cfg), 0, start, 'read' if revoker else 'done', faults, frozenset(), False, frozenset(), revoke_access)
    seen, queue, bad = {s}, collections.deque([s]), collections.Counter()
    while queue:
        rec, now, ws, rv, faults, late, acked, ghost, ra = queue.popleft()

        def push(rec=rec, now=now, ws=ws, rv=rv, faults=faults, late=late, acked=acked, ghost=ghost, ra=ra):
            t = (rec, now, ws, rv, faults, late, acked, ghost, ra)
            if t not in seen:
                seen.add(t)
                queue.append(t)

        if sum(p.sup is None for p in rec.pairs) != 1:
            bad['two live branches'] += 1
        if acked and not rec.rev:
            bad['alive after an acknowledged revocation'] += 1
        if len({p.num for p in rec.pairs}) < len(rec.pairs):
            bad['two pairs of one number'] += 1
        in_time = all(w[0] == Idle or w[3][0] + lag > now for w in ws) and all(z[2] + lag > now for z in late)
        if now < ticks and in_time:
            push(now=now + 1)
        if ra and len(rec.pairs) > 1 and not rec.rev:
            push(rec=rec._replace(ver=rec.ver + 1, pairs=(rec.pairs[0]._replace(arev=True),) + rec.pairs[1:]), ra=False)
        for z in late:
            if z[0] == rec.ver:
                push(late=late - {z}, rec=z[1], ghost=since(ghost, z[1]))
            else:
                push(late=late - {z})
        if rv == 'read':
            push(rv='done', acked=True) if rec.rev else push(rv=('write', rec.ver))
        elif rv != 'done':
            if rec.ver == rv[1]:
                push(rec=rec._replace(ver=rec.ver + 1, rev='asked'), rv='done', acked=True)
            else:
                push(rv='read')
        for i, (step, tok, left, x) in enumerate(ws):
            def worker(*a):
                return ws[:i] + (a,) + ws[i + 1:]
            if step == Idle:
                if left:
                    for ask in asks:
                        push(ws=worker(Look, tok, left - 1, (now, ask, None, None)))
                continue
            push(ws=worker(Idle, tok, left, None))  # the future is dropped, or the answer is lost
            at, ask, mark, got = x[:4]
            if step == Look:
                if mark and shows(rec, mark):  # an earlier claim of this request was applied after all
                    push(ws=worker(Confirm, tok, left, (at, ask, mark, got)))
                    continue
                v = judge(rec, tok, at, '%d.%d' % (i, left), ask, cfg)
                if v[0] == 'write':
                    push(ws=worker(Write, tok, left, (at, ask, v[3], v[2], rec.ver, v[1])))
                elif v[0] == 'leave':
                    if v[1] != rec.pairs[0].tok:
                        bad['not the newest pair'] += 1
                    push(ws=worker(Idle, v[1], left, None))
                else:
                    p = next((p for p in rec.pairs if p.tok == tok), None)
                    # Without a grace there is no link: a slow request is refused, and accuses nobody.
                    has_grace = cfg.grace > 0 or v[1] != 'no link'
                    if p is not None and p.sup is not None and at < p.end and not rec.rev and has_grace:
                        bad['a use in grace is refused: ' + v[1]] += 1
                    if v[1] == 'REUSE':
                        superseded = dict(ghost).get(tok)
                        if superseded is None or at < superseded + cfg.grace and not cfg.strict:
                            bad['accused in grace'] += 1
                        push(rec=rec._replace(ver=rec.ver + 1, rev='reuse'), ws=worker(Idle, tok, 0, None))
                    else:
                        push(ws=worker(Idle, tok, left if v[1] == '429' else 0, None))
            elif step == Write:
                ver, nxt = x[4], x[5]
                if ver == rec.ver:
                    after = since(ghost, nxt)
                    push(rec=nxt, ghost=after, ws=worker(Idle, got, left, None))
                    if faults:  # applied, with an error; applied, and reported as lost
                        push(rec=nxt, ghost=after, faults=faults - 1, ws=worker(Confirm, tok, left, x[:4]))
                        push(rec=nxt, ghost=after, faults=faults - 1, ws=worker(Look, tok, left, x[:4]))
                else:
                    push(ws=worker(Look, tok, left, (at, ask, None, None)))
                if faults:  # not applied, with an error; applied later
                    push(faults=faults - 1, ws=worker(Confirm, tok, left, x[:4]))
                    push(faults=faults - 1, late=late | {(ver, nxt, now)}, ws=worker(Confirm, tok, left, x[:4]))
            elif shows(rec, mark) and not rec.rev:
                push(rec=rec._replace(ver=rec.ver + 1), ws=worker(Idle, got, left, None))
            else:
                push(ws=worker(Idle, tok, left, None))  # 503: the client keeps what it has
    return len(seen), dict(bad)


def report(name, found, expected):
    is_expected = expected(found) if callable(expected) else found == expected
    print('%-9s %-58s %s' % ('ok' if is_expected else 'NOT AS EXPECTED', name, found or '-'), flush=True)
    if not is_expected:
        FAILED.append(name)


def all_races():
    cases = {
        '2 workers, 2 requests, 1 fault': ({}, dict(workers=2, reqs=2, ticks=3, faults=1)),
        '2 workers, 2 requests, a revoker, 1 fault': ({}, dict(workers=2, reqs=2, ticks=1, faults=1, revoker=True)),
        '3 workers, 1 request, 1 fault': ({}, dict(workers=3, reqs=1, ticks=2, faults=1)),
        'the newest access token is revoked': ({}, dict(workers=2, reqs=2, ticks=1, faults=1, revoke_access=True)),
        'some requests ask for less': ({}, dict(workers=2, reqs=2, ticks=1, faults=1, asks=(None, 'less'))),
        'access token shorter than the grace': (dict(alife=1), dict(workers=2, reqs=2, ticks=3, faults=1)),
        'the grace ends with the next refresh': (dict(strict=True), dict(workers=2, reqs=2, ticks=2, faults=1)),
        'no grace of refresh tokens': (dict(grace=0), dict(workers=2, reqs=1, ticks=1, faults=1)),
        '1 worker, 3 requests, 2 faults': ({}, dict(workers=1, reqs=3, ticks=1, faults=2)),
    }
    for name, (change, case) in cases.items():
        report(name, races(RULES._replace(**change), **case)[1], {})
    # A refusal for want of room is answered with 429, and the client keeps its token.
    case = dict(workers=2, reqs=2, ticks=2, faults=1)
    report('room for one pair in grace', races(RULES._replace(room=1), **case)[1], {})
    slow = races(RULES._replace(retention=0), workers=2, reqs=2, ticks=4, faults=1, lag=2)[1]
    report('without retention, slow requests', slow, bool)


def broken_rules():
    """The search must find a rule that is broken on purpose."""
    global judge, rotate
    rules = judge, rotate
    case = dict(workers=2, reqs=2, ticks=2, faults=1, revoker=True)

    def forgets_revocation(rec, *a):
        return rules[0](rec._replace(rev=None), *a)

    def keeps_the_used(rec, used, *a):
        nxt, tok = rules[1](rec, used, *a)
        return nxt._replace(pairs=tuple(p._replace(sup=None, end=99) if p.tok == used.tok else p for p in nxt.pairs)), tok

    def drops_superseded(*a):
        nxt, tok = rules[1](*a)
        return nxt._replace(pairs=nxt.pairs[:1]), tok

    judge = forgets_revocation
    report('broken: revocation is not read', races(RULES, **case)[1], bool)
    judge = rules[0]
    for rotate in (keeps_the_used, drops_superseded):
        report('broken: ' + rotate.__name__, races(RULES, **case)[1], bool)
    rotate = rules[1]


def collisions(apart):
    """Owner and thief each refresh once, on clocks up to `apart` apart: in how many cases each outcome is seen."""
    cfg, seen = RULES._replace(grace=5, agrace=5, retention=60), collections.Counter()
    for owner, thief, ahead in itertools.product(range(12), range(12), range(-apart, apart + 1)):
        if owner == thief:
            continue
        rec, hold = first(cfg), {}
        for time, who, clock in sorted([(owner, 'o', 0), (thief, 't', ahead)]):
            v = judge(rec, (1, 'x'), time + clock, who, None, cfg)
            rec = v[1] if v[0] == 'write' else rec
            hold[who] = v[1]
        second = 'o' if owner > thief else 't'
        is_late = abs(owner - thief) >= cfg.grace
        seen[('late' if is_late else 'in grace', 'noticed' if hold[second] == 'REUSE' else 'shared')] += 1
    return {' '.join(key): count for key, count in sorted(seen.items())}


def restored():
    """Two honest holders, a store that goes back, and what they do then: who loses the grant with the newest token?"""
    accused = total = 0
    for history in itertools.product(((0, 0), (0, 1), (1, 0), (1, 1)), repeat=4):
        rec, now, hold, backups = first(RULES), 0, [(1, 'x')] * 2, [first(RULES)]
        for n, (who, wait) in enumerate(history):
            now += wait
            v = judge(rec, hold[who], now, 'h%d' % n, None, RULES)
            if v[0] == 'no':
                break
            if v[0] == 'write':
                rec = v[1]
                backups.append(rec)
            hold[who] = v[2] if v[0] == 'write' else v[1]
        else:
            for rec, after in itertools.product(backups[:-1], itertools.product(((0, 1), (1, 1), (0, 4), (1, 4)), repeat=3)):
                total, time, held = total + 1, now, list(hold)
                for n, (who, wait) in enumerate(after):
                    time += wait
                    v = judge(rec, held[who], time, 'n%d' % n, None, RULES)
                    if v[0] == 'no':
                        was_superseded = any(p.tok == held[who] and p.sup is not None for p in rec.pairs)
                        accused += v[1] == 'REUSE' and held[who] in hold and not was_superseded
                        break
                    rec, held[who] = (v[1], v[2]) if v[0] == 'write' else (rec, v[1])
    return {'histories': total, 'accused with the newest token': accused}


all_races()
broken_rules()
report('a thief on one clock: noticed from the grace on', collisions(0), lambda seen: set(seen) == {'in grace shared', 'late noticed'})
report('a thief on clocks 2 apart: some are missed, some are early', collisions(2), lambda seen: len(seen) == 4)
report('a restored store', restored(), lambda seen: seen['accused with the newest token'] == 0)
sys.exit(1 if FAILED else 0)
