//! Every text of the pages, in one table for each language.

use grantor::scope::Permission;

/// The texts of the pages in one language.
///
/// For a translation of your own, write a value with all fields: a missing text is an error at compile time. A text may
/// contain names in braces, which stand for a value, as in [`ENGLISH`](Self::ENGLISH). Texts are escaped, so none can
/// contain HTML.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a translation must name every text")]
#[expect(missing_docs, reason = "the English table shows what each text is")]
pub struct Texts {
    /// The language as an `Accept-Language` header names it, such as `en`.
    pub language: &'static str,
    /// What a client may do with a scope, in this language: the scope's name and permission. With `None`, the page
    /// shows the [verbs](grantor::scope::ScopeDefinition::with_verbs) of the catalog.
    pub verbs: fn(&str, Option<Permission>) -> Option<&'static str>,
    /// A time that many seconds ago, in words.
    pub ago: fn(u32) -> String,
    /// That many minutes, in words.
    pub minutes: fn(u32) -> String,

    pub consent_title: &'static str,
    pub unreviewed_title: &'static str,
    pub publisher: &'static str,
    pub description: &'static str,
    pub signed_in: &'static str,
    pub switch_account: &'static str,
    pub allows: &'static str,
    pub this_application: &'static str,
    pub choose: &'static str,
    pub read: &'static str,
    pub read_and_change: &'static str,
    pub all_resources: &'static str,
    pub public_resources: &'static str,
    pub only_these_resources: &'static str,
    pub apis: &'static str,
    pub no_scope_chosen: &'static str,
    pub no_resource_chosen: &'static str,
    pub goes_to: &'static str,
    pub goes_to_device: &'static str,
    pub goes_to_app: &'static str,
    pub warning_device: &'static str,
    pub warning_in_development: &'static str,
    pub warning_any_program: &'static str,
    pub warning_no_secret: &'static str,
    pub deny: &'static str,
    pub allow: &'static str,

    pub device_title: &'static str,
    pub unreviewed_device_title: &'static str,
    pub compare_code: &'static str,
    pub device_warning: &'static str,
    pub device_asked: &'static str,
    pub device_network: &'static str,
    pub device_agent: &'static str,
    pub device_shows_code: &'static str,
    pub code_not_compared: &'static str,
    pub back_to_device: &'static str,

    pub connect_device: &'static str,
    pub code_label: &'static str,
    pub code_warning: &'static str,
    pub code_in_link: &'static str,
    pub unknown_code: &'static str,
    pub too_many_codes: &'static str,
    pub submit_code: &'static str,
    pub device_connected: [&'static str; 2],
    pub device_not_connected: [&'static str; 2],
    pub to_service: &'static str,

    pub unreviewed: &'static str,
    pub described_at: &'static str,
    pub answer_goes_to: &'static str,
    pub calls_itself: &'static str,
    pub no_name: &'static str,
    pub looks_like_another: &'static str,
    pub first_seen: &'static str,

    pub no_access: [&'static str; 2],
    pub already_answered: [&'static str; 2],
    pub already_allowed: [&'static str; 2],
    pub already_denied: [&'static str; 2],
    pub request_of: &'static str,
    pub to_application: &'static str,
    pub stale: [&'static str; 2],
    pub malformed_form: [&'static str; 2],
    pub unavailable: [&'static str; 2],
    pub awaits_review: [&'static str; 2],
    pub unknown_client: [&'static str; 2],
    pub not_granted: [&'static str; 2],
    pub request_refused: [&'static str; 2],
    pub sign_in_loop: [&'static str; 2],
    pub before_link: &'static str,
    pub continue_to: &'static str,
    pub again: &'static str,
    pub cause: &'static str,

    pub applications_title: &'static str,
    pub applications: &'static str,
    pub no_applications: &'static str,
    pub revoked: &'static str,
    pub can: &'static str,
    pub can_do_nothing: &'static str,
    pub renewed: &'static str,
    pub not_used: &'static str,
    pub revoke: &'static str,
    pub revoke_for: &'static str,
    pub unreviewed_application: &'static str,
    pub nameless_application: &'static str,
    pub removed_application: &'static str,

    pub sign_in_title: &'static str,
    pub user_name: [&'static str; 2],
    pub email: [&'static str; 2],
    pub password: &'static str,
    pub sign_in: &'static str,
}

impl Texts {
    /// English.
    pub const ENGLISH: Self = Self {
        language: "en",
        verbs: |_, _| None,
        ago: |seconds| {
            ago(seconds, ["just now", "minute", "hour", "day"], |n, unit| {
                format!("{n} {unit}{} ago", if n == 1 { "" } else { "s" })
            })
        },
        minutes: |n| format!("{n} minute{}", if n == 1 { "" } else { "s" }),

        consent_title: "{client} wants to access your {service} account",
        unreviewed_title: "An unreviewed application wants to access your {service} account",
        publisher: "Published by {publisher}",
        description: "The publisher says: “{description}”",
        signed_in: "Signed in as {user}",
        switch_account: "Switch account",
        allows: "This will allow {client} to:",
        this_application: "this application",
        choose: "Clear what you do not want to allow.",
        read: "{title}: read",
        read_and_change: "{title}: read and change",
        all_resources: "On all your resources, including private ones and those you add later.",
        public_resources: "On all your public resources, including those you add later, and on no private ones.",
        only_these_resources: "Only on these resources:",
        apis: "At:",
        no_scope_chosen: "Nothing is chosen. Choose at least one thing that it may do, or choose “Deny”.",
        no_resource_chosen: "No resource is chosen. Choose at least one, or choose “Deny”.",
        goes_to: "You will then go to {host}.",
        goes_to_device: "You will then return to a program on this device, at {host}.",
        goes_to_app: "You will then return to the app that opens {host} links.",
        warning_device: "The program on your device cannot be verified. Allow this only if you have just started it.",
        warning_in_development: "Shown because the redirect URI is on your own device. With a redirect URI on a web site, a \
             client with a secret has no warning. Only a service in development shows this line.",
        warning_any_program: "It receives answers only on your own device, where any program can claim to be this \
                              application. Allow this only if you have just started it yourself.",
        warning_no_secret: "This application cannot prove who it is, so another program could pretend to be it. Allow \
                            this only if you have just started it yourself.",
        deny: "Deny",
        allow: "Allow",

        device_title: "{client} on a device wants to access your {service} account",
        unreviewed_device_title: "An unreviewed application on a device wants to access your {service} account",
        compare_code: "Compare this code with the one on your device:",
        device_warning: "Continue only if you started this yourself and your device shows this code.",
        device_asked: "The device asked {ago}.",
        device_network: "It asked from the network {network}.",
        device_agent: "It calls itself {agent}. That is its own claim.",
        device_shows_code: "My device shows {code}",
        code_not_compared: "Compare the code with the one on your device. If it is the same, check the box. If not, choose \
                            “Deny”.",
        back_to_device: "Afterwards, go back to your device.",

        connect_device: "Connect a device",
        code_label: "Code shown on your device",
        code_warning: "Type a code only if you started this yourself, on a device in front of you. Never use a code that \
                       somebody sent you.",
        code_in_link: "This code came with a link. Compare it with the one on your device.",
        unknown_code: "This code is not valid. Check it, or ask the device for a new one.",
        too_many_codes: "There were too many wrong codes. Try again in {minutes}.",
        submit_code: "Continue",
        device_connected: [
            "Your device is connected",
            "It continues by itself in a few seconds. You can close this page.",
        ],
        device_not_connected: ["Your device was not connected", "Nothing was granted. You can close this page."],
        to_service: "Go to {service}",

        unreviewed: "Nobody at {service} has reviewed this application. This is what is known about it:",
        described_at: "It is described by a document at {host}:",
        answer_goes_to: "Your answer goes to {host}.",
        calls_itself: "It calls itself {name}. That is its own claim.",
        no_name: "It did not give a name.",
        looks_like_another: "That name looks like the name of this service, or of another application that is known here.",
        first_seen: "It was first seen here on {date}.",

        no_access: [
            "This link does not work",
            "The link that brought you here cannot be accessed: it is incomplete or not valid. Go back to the application \
             you came from and try again.",
        ],
        already_answered: [
            "You have already answered this request",
            "Your answer was recorded. To start over, go back to the application you came from.",
        ],
        already_allowed: [
            "You have already answered this request",
            "You allowed access. To continue, go back to the application you came from.",
        ],
        already_denied: [
            "You have already answered this request",
            "Access was not granted. To start over, go back to the application you came from.",
        ],
        request_of: "It was the request of {client}.",
        to_application: "Go to {client}",
        stale: [
            "This page was open for too long",
            "Nothing was granted. You have signed in again since the page was made, or too much time has passed.",
        ],
        malformed_form: ["The form did not arrive", "Nothing was changed. Go back, reload the page and try again."],
        unavailable: [
            "The service is temporarily unavailable",
            "Nothing is wrong with your request. Please try again in a few minutes.",
        ],
        awaits_review: [
            "This application awaits review",
            "A person must approve the application before it can be used. Please try again later.",
        ],
        unknown_client: [
            "This application is unknown",
            "Its registration may have expired because you did not use it for a long time. In the application, remove \
             the connection to this service and add it again.",
        ],
        not_granted: [
            "Access was not granted",
            "Nobody has reviewed the application, so you are not sent there at once.",
        ],
        request_refused: [
            "The request of the application was refused",
            "Nobody has reviewed the application, so you are not sent there at once.",
        ],
        sign_in_loop: [
            "The sign-in does not last",
            "Your browser came back from the sign-in several times, and this service did not recognize you. Allow \
             cookies for this service, and try again. Its operators find the cause in their log.",
        ],
        before_link: "To tell the application, your browser would go to {host}.",
        continue_to: "Continue to {host}",
        again: "Show the request again",
        cause: "The cause, which only a service in development shows:",

        applications_title: "Authorized applications",
        applications: "These applications can use your account {user} until you revoke their access.",
        no_applications: "No application can use your account {user}.",
        revoked: "The access was revoked. The application can no longer use your account.",
        can: "It can:",
        can_do_nothing: "It can do nothing any more.",
        renewed: "Access last renewed {ago}",
        not_used: "Access not used yet",
        revoke: "Revoke access",
        revoke_for: "of {client}",
        unreviewed_application: "Unreviewed application that calls itself “{name}”",
        nameless_application: "Unreviewed application without a name",
        removed_application: "An application that was removed",

        sign_in_title: "Sign in to {service}",
        user_name: ["User name", "Wrong user name or password."],
        email: ["E-mail address", "Wrong e-mail address or password."],
        password: "Password",
        sign_in: "Sign in",
    };

    /// German.
    pub const GERMAN: Self = Self {
        language: "de",
        verbs: |_, _| None,
        ago: |seconds| {
            ago(seconds, ["gerade eben", "Minute", "Stunde", "Tag"], |n, unit| {
                let plural = if n == 1 {
                    ""
                } else if unit == "Tag" {
                    "en"
                } else {
                    "n"
                };
                format!("vor {n} {unit}{plural}")
            })
        },
        minutes: |n| format!("{n} Minute{}", if n == 1 { "" } else { "n" }),

        consent_title: "{client} möchte auf dein Konto bei {service} zugreifen",
        unreviewed_title: "Eine ungeprüfte Anwendung möchte auf dein Konto bei {service} zugreifen",
        publisher: "Veröffentlicht von {publisher}",
        description: "Der Anbieter schreibt: „{description}“",
        signed_in: "Angemeldet als {user}",
        switch_account: "Konto wechseln",
        allows: "Das erlaubst du {client}:",
        this_application: "dieser Anwendung",
        choose: "Wähle ab, was du nicht erlauben möchtest.",
        read: "{title}: lesen",
        read_and_change: "{title}: lesen und ändern",
        all_resources: "Das gilt für alles, was dir gehört: auch Privates und was später dazukommt.",
        public_resources: "Das gilt für alles Öffentliche, auch was später dazukommt, und für nichts Privates.",
        only_these_resources: "Das gilt nur für:",
        apis: "Bei:",
        no_scope_chosen: "Nichts ist ausgewählt. Wähle mindestens einen Punkt oder „Ablehnen“.",
        no_resource_chosen: "Kein Ort ist ausgewählt. Wähle mindestens einen oder „Ablehnen“.",
        goes_to: "Danach kommst du zu {host}.",
        goes_to_device: "Danach kommst du zurück zu einem Programm auf diesem Gerät, unter {host}.",
        goes_to_app: "Danach kommst du zurück zu der App, die {host}-Links öffnet.",
        warning_device: "Welches Programm auf deinem Gerät das ist, lässt sich nicht prüfen. Erlaube den Zugriff nur, \
                         wenn du es gerade selbst gestartet hast.",
        warning_in_development: "Das steht hier, weil die Redirect-URI auf deinem eigenen Gerät liegt. Mit einer auf einer \
             Website hat ein Client mit Geheimnis keine Warnung. Diese Zeile zeigt nur ein Dienst in Entwicklung.",
        warning_any_program: "Die Anwendung erhält Antworten nur auf deinem eigenen Gerät. Dort kann sich jedes Programm \
                              für sie ausgeben. Erlaube den Zugriff nur, wenn du sie gerade selbst gestartet hast.",
        warning_no_secret: "Diese Anwendung kann nicht beweisen, wer sie ist. Ein anderes Programm könnte sich für sie \
                            ausgeben. Erlaube den Zugriff nur, wenn du sie gerade selbst gestartet hast.",
        deny: "Ablehnen",
        allow: "Erlauben",

        device_title: "{client} auf einem Gerät möchte auf dein Konto bei {service} zugreifen",
        unreviewed_device_title: "Eine ungeprüfte Anwendung auf einem Gerät möchte auf dein Konto bei {service} zugreifen",
        compare_code: "Vergleiche diesen Code mit dem auf deinem Gerät:",
        device_warning: "Mach nur weiter, wenn du das selbst gestartet hast und dein Gerät diesen Code zeigt.",
        device_asked: "Das Gerät hat {ago} angefragt.",
        device_network: "Es hat aus dem Netz {network} angefragt.",
        device_agent: "Es nennt sich {agent}. Das ist seine eigene Angabe.",
        device_shows_code: "Mein Gerät zeigt {code}",
        code_not_compared: "Vergleiche den Code mit dem auf deinem Gerät. Ist er gleich, kreuze das Kästchen an. Wenn \
                            nicht, wähle „Ablehnen“.",
        back_to_device: "Gehe danach zurück zu deinem Gerät.",

        connect_device: "Gerät verbinden",
        code_label: "Code auf deinem Gerät",
        code_warning: "Gib einen Code nur ein, wenn du das selbst gestartet hast, auf einem Gerät vor dir. Benutze nie \
                       einen Code, den dir jemand geschickt hat.",
        code_in_link: "Dieser Code kam mit einem Link. Vergleiche ihn mit dem auf deinem Gerät.",
        unknown_code: "Dieser Code ist nicht gültig. Prüfe ihn, oder lass dir vom Gerät einen neuen geben.",
        too_many_codes: "Das waren zu viele falsche Codes. Versuche es in {minutes} noch einmal.",
        submit_code: "Weiter",
        device_connected: [
            "Dein Gerät ist verbunden",
            "Es macht in wenigen Sekunden von selbst weiter. Du kannst diese Seite schließen.",
        ],
        device_not_connected: [
            "Dein Gerät wurde nicht verbunden",
            "Nichts wurde erlaubt. Du kannst diese Seite schließen.",
        ],
        to_service: "Zu {service}",

        unreviewed: "Niemand bei {service} hat diese Anwendung geprüft. Das ist über sie bekannt:",
        described_at: "Ein Dokument bei {host} beschreibt sie:",
        answer_goes_to: "Deine Antwort geht an {host}.",
        calls_itself: "Sie nennt sich {name}. Das ist ihre eigene Angabe.",
        no_name: "Sie hat keinen Namen angegeben.",
        looks_like_another: "Dieser Name sieht aus wie der dieses Dienstes oder einer anderen Anwendung, die hier bekannt ist.",
        first_seen: "Hier zuerst gesehen am {date}.",

        no_access: [
            "Dieser Link funktioniert nicht",
            "Der Link, der dich hierher geführt hat, ist unvollständig oder ungültig. Gehe zurück zu der Anwendung, von \
             der du kommst, und versuche es noch einmal.",
        ],
        already_answered: [
            "Du hast diese Anfrage schon beantwortet",
            "Deine Antwort ist gespeichert. Um neu zu beginnen, gehe zurück zu der Anwendung, von der du kommst.",
        ],
        already_allowed: [
            "Du hast diese Anfrage schon beantwortet",
            "Du hast den Zugriff erlaubt. Um weiterzumachen, gehe zurück zu der Anwendung, von der du gekommen bist.",
        ],
        already_denied: [
            "Du hast diese Anfrage schon beantwortet",
            "Der Zugriff wurde nicht erlaubt. Um neu zu beginnen, gehe zurück zu der Anwendung, von der du gekommen bist.",
        ],
        request_of: "Es war die Anfrage von {client}.",
        to_application: "Zu {client}",
        stale: [
            "Diese Seite war zu lange offen",
            "Nichts wurde erlaubt. Du hast dich seither neu angemeldet, oder es ist zu viel Zeit vergangen.",
        ],
        malformed_form: [
            "Das Formular ist nicht angekommen",
            "Nichts wurde geändert. Gehe zurück, lade die Seite neu und versuche es noch einmal.",
        ],
        unavailable: [
            "Der Dienst ist gerade nicht erreichbar",
            "An deiner Anfrage ist nichts falsch. Bitte versuche es in ein paar Minuten noch einmal.",
        ],
        awaits_review: [
            "Diese Anwendung wird noch geprüft",
            "Jemand muss die Anwendung freigeben, bevor sie benutzt werden kann. Bitte versuche es später noch einmal.",
        ],
        unknown_client: [
            "Diese Anwendung ist unbekannt",
            "Vielleicht ist ihre Registrierung abgelaufen, weil du sie lange nicht benutzt hast. Entferne in der \
             Anwendung die Verbindung zu diesem Dienst und füge sie neu hinzu.",
        ],
        not_granted: [
            "Der Zugriff wurde nicht erlaubt",
            "Niemand hat die Anwendung geprüft. Darum wirst du nicht sofort dorthin geschickt.",
        ],
        request_refused: [
            "Die Anfrage der Anwendung wurde abgelehnt",
            "Niemand hat die Anwendung geprüft. Darum wirst du nicht sofort dorthin geschickt.",
        ],
        sign_in_loop: [
            "Die Anmeldung hält nicht",
            "Dein Browser kam mehrmals von der Anmeldung zurück, und dieser Dienst hat dich nicht erkannt. Erlaube \
             diesem Dienst Cookies, und versuche es noch einmal. Seine Betreiber finden die Ursache im Protokoll.",
        ],
        before_link: "Damit die Anwendung es erfährt, müsste dein Browser zu {host} gehen.",
        continue_to: "Weiter zu {host}",
        again: "Anfrage noch einmal zeigen",
        cause: "Die Ursache, die nur ein Dienst in Entwicklung zeigt:",

        applications_title: "Verbundene Anwendungen",
        applications: "Diese Anwendungen können dein Konto {user} benutzen, bis du ihren Zugriff widerrufst.",
        no_applications: "Keine Anwendung kann dein Konto {user} benutzen.",
        revoked: "Der Zugriff ist widerrufen. Die Anwendung kann dein Konto nicht mehr benutzen.",
        can: "Sie kann:",
        can_do_nothing: "Sie kann nichts mehr tun.",
        renewed: "Zugriff zuletzt erneuert {ago}",
        not_used: "Zugriff noch nicht benutzt",
        revoke: "Zugriff widerrufen",
        revoke_for: "von {client}",
        unreviewed_application: "Ungeprüfte Anwendung, die sich „{name}“ nennt",
        nameless_application: "Ungeprüfte Anwendung ohne Namen",
        removed_application: "Eine Anwendung, die entfernt wurde",

        sign_in_title: "Bei {service} anmelden",
        user_name: ["Benutzername", "Benutzername oder Passwort ist falsch."],
        email: ["E-Mail-Adresse", "E-Mail-Adresse oder Passwort ist falsch."],
        password: "Passwort",
        sign_in: "Anmelden",
    };
}

/// Rounds down to the largest unit. `words` are that for less than a minute and the units.
fn ago(seconds: u32, words: [&str; 4], write: impl Fn(u32, &str) -> String) -> String {
    let [now, minute, hour, day] = words;
    match seconds {
        0..60 => now.to_owned(),
        60..3_600 => write(seconds / 60, minute),
        3_600..86_400 => write(seconds / 3_600, hour),
        _ => write(seconds / 86_400, day),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_in_its_largest_unit() {
        for (seconds, english, german) in [
            (0, "just now", "gerade eben"),
            (59, "just now", "gerade eben"),
            (60, "1 minute ago", "vor 1 Minute"),
            (7_199, "1 hour ago", "vor 1 Stunde"),
            (7_200, "2 hours ago", "vor 2 Stunden"),
            (86_400, "1 day ago", "vor 1 Tag"),
            (u32::MAX, "49710 days ago", "vor 49710 Tagen"),
        ] {
            assert_eq!((Texts::ENGLISH.ago)(seconds), english);
            assert_eq!((Texts::GERMAN.ago)(seconds), german);
        }
    }

    #[test]
    fn one_minute_is_singular() {
        for (minutes, english, german) in [(1, "1 minute", "1 Minute"), (2, "2 minutes", "2 Minuten")] {
            assert_eq!((Texts::ENGLISH.minutes)(minutes), english);
            assert_eq!((Texts::GERMAN.minutes)(minutes), german);
        }
    }
}
