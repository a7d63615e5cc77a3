#!/usr/bin/env python3
"""Puts one deliberate fault after the other into the source, and shows that a test fails for each.

    python3 tests/mutations/replay.py            # all faults, about half a minute each
    python3 tests/mutations/replay.py NAME...    # those whose names contain one of these texts
    python3 tests/mutations/replay.py --check    # only whether each fault still fits the source

Run it in a checkout without changes. `faults.toml` has the faults: in `file`, the text `from` becomes `to`, and the
tests of the binary `test` whose names contain `filter` must catch it. The binaries `protocol`, `faults` and `model` are
packages of their own name. `package` names the package of any other binary, if it is not `grantor`. `from` must occur
exactly once. Whoever moves that code moves the text too. A fault that no test catches is a missing test.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The suites that are packages of their own.
SUITES = {'protocol', 'faults', 'model'}
# The binaries of tests that Cargo knows, with their packages.
BINARIES = {
    (package['name'], target['name'])
    for package in json.loads(
        subprocess.run(
            ['cargo', 'metadata', '--no-deps', '--format-version', '1'], cwd=ROOT, stdout=subprocess.PIPE, check=True
        ).stdout
    )['packages']
    for target in package['targets']
    if 'test' in target['kind']
}
FAULTS = tomllib.loads((ROOT / 'tests/mutations/faults.toml').read_text())['fault']


def misfit(fault):
    """Why the fault does not fit the source; None if it does."""
    count = (ROOT / fault['file']).read_text().count(fault['from'])
    if count != 1:
        return f"the text occurs {count} times in {fault['file']}"
    if fault['from'] == fault['to']:
        return 'it changes nothing'
    if fault['test'] != 'lib' and (package_of(fault), fault['test']) not in BINARIES:
        return f"{package_of(fault)} has no binary {fault['test']}"
    return None


def package_of(fault):
    """The package that has the fault's tests."""
    return fault['test'] if fault['test'] in SUITES else fault.get('package', 'grantor')


def outcome(fault):
    """Runs the tests with the fault: 'caught', or what else happened."""
    path = ROOT / fault['file']
    sound = path.read_text()
    target = ['--lib'] if fault['test'] == 'lib' else ['--test', fault['test']]
    command = ['cargo', 'test', '--package', package_of(fault), '--all-features', *target, '--', fault['filter']]
    # The builds differ in one file.
    environment = os.environ | {'CARGO_INCREMENTAL': '1'}
    try:
        path.write_text(sound.replace(fault['from'], fault['to']))
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    finally:
        path.write_text(sound)
    if re.search(r'^test \S.* \.\.\. FAILED$', run.stdout, re.MULTILINE):
        return 'caught'
    if re.search(r'^test result: ok\. [1-9]', run.stdout, re.MULTILINE):
        return 'NOT CAUGHT'
    if 'could not compile' in run.stderr:
        return 'DOES NOT COMPILE'
    return 'NO TEST RAN'


def main(arguments):
    names = [fault['name'] for fault in FAULTS]
    wrong = [f'{fault["name"]}: {why}' for fault in FAULTS if (why := misfit(fault))]
    wrong += [f'{name}: the name is there twice' for name in set(names) if names.count(name) > 1]
    if arguments == ['--check'] or wrong:
        print('\n'.join(wrong) or f'{len(FAULTS)} faults fit the source')
        return bool(wrong)
    chosen = [fault for fault in FAULTS if not arguments or any(part in fault['name'] for part in arguments)]
    missed = 0
    for fault in chosen:
        found = outcome(fault)
        missed += found != 'caught'
        print(f'{found:18}{fault["test"]:10}{fault["name"]}', flush=True)
    print(f'{len(chosen) - missed} of {len(chosen)} caught')
    return missed > 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
