"""Finds secrets, which must not enter the ledger: it is copied to every clone and keeps its history.

The table lists token formats that can be recognized by themselves. Each has a fixed mark that is searched first, so a
text without any mark costs a few substring searches, and no pattern is compiled. Each pattern looks ahead a limited
number of characters, so the search is linear in the length of the text.

docs/decisions/0035-what-counts-as-a-secret.md explains the selection. Examples for each row, and counterexamples, are
in tests/data/secrets.
"""

from __future__ import annotations

from bb.kernel.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match

IN_NAME, IN_VALUE = r"[^\s/:@\"`<>\x00-\x1f\x7f-\xff]", r"[^\s/@\"`<>\x00-\x1f\x7f-\xff]"
# The text between the first line of a key and the key itself. In source code or an escaped text it may have quotes.
BREAK = r"(?:\\+[nrt]|[\s\"',>#|*])"
KEY_HEADERS = rf"(?:[A-Z][A-Za-z-]{{2,20}}: [^\n\\]{{1,80}}(?:\n|\\+[nrt]){BREAK}{{0,40}}){{0,4}}"
KEY = (
    rf"(?:[A-Z0-9 ]{{0,40}})PRIVATE KEY(?: BLOCK)?-----(?:{BREAK}|\+(?=\s)){{1,40}}"
    rf"{KEY_HEADERS}(?P<body>[0-9A-Za-z+/=]{{16}})"
)
UUID = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
# (kind, marks separated by commas, pattern after the mark). If the pattern begins with [, one long word must follow,
# and the beginning of that word is checked before the pattern is compiled.
FORMATS = (
    ("private key", "-----BEGIN ", KEY),
    ("PuTTY private key", "PuTTY-User-Key-File-", r"(?:[23]: )"),
    ("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50}"),
    ("AWS access key", "AKIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("AWS temporary key", "ASIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("AWS Bedrock key", "ABSK", r"[0-9A-Za-z+/=]{100}"),
    ("GitHub token", "ghp_,gho_,ghs_,ghu_,ghr_", r"[0-9A-Za-z]{36}"),
    ("GitHub token", "github_pat_", r"[0-9A-Za-z_]{50}"),
    ("GitLab token", "glpat-,gldt-,glrt-,glsoat-,glft-,glffct-,GR1348941", r"[0-9A-Za-z_-]{20}"),
    ("GitLab token", "glptt-", r"[0-9a-f]{40}"),
    ("GitLab token", "glcbt-", r"(?:[0-9A-Za-z]{1,5}_[0-9A-Za-z_-]{20})"),
    ("GitLab token", "glimt-", r"[0-9A-Za-z_-]{25}"),
    ("GitLab token", "glagent-", r"[0-9A-Za-z_-]{50}"),
    ("GitLab token", "gloas-", r"[0-9A-Za-z_-]{64}"),
    ("Atlassian token", "ATATT3", r"[0-9A-Za-z_=-]{40}"),
    ("Bitbucket token", "ATBB", r"[0-9A-Za-z]{32}"),
    ("Bitbucket token", "ATCTT3", r"[0-9A-Za-z_=-]{40}"),
    ("Slack token", "xox", r"(?:[abcdeoprs]-(?=[A-Za-z%+/-]{0,40}[0-9])[0-9A-Za-z%+/-]{10})"),
    ("Slack app token", "xapp-", r"[0-9]-[0-9A-Z]{5,20}-[0-9]{5,20}-[0-9a-f]{20}"),
    ("Slack webhook", "hooks.slack.com/services/", r"(?:T[0-9A-Z]{1,20}/B[0-9A-Z]{1,20}/\w+)"),
    ("Slack webhook", "hooks.slack.com/", r"(?:workflows|triggers)/[0-9A-Z]{5,20}/[0-9A-Z]{1,20}/[0-9A-Za-z/]{10}"),
    ("Discord webhook", "discord.com/api/webhooks/,discordapp.com/api/webhooks/", r"[0-9]{17,20}/[0-9A-Za-z_-]{40}"),
    ("Teams webhook", ".webhook.office.com/webhookb2/", r"[0-9a-f-]{36}@[0-9a-f-]{36}/\w{1,40}/[0-9a-f]{32}"),
    ("Anthropic key", "sk-ant-", r"[0-9A-Za-z_-]{20}"),
    ("OpenAI key", "sk-proj-,sk-svcacct-,sk-admin-", r"[0-9A-Za-z_-]{20}"),
    ("Langfuse key", "sk-lf-", rf"(?:{UUID})"),
    ("OpenAI key", "sk-", r"[0-9A-Za-z]{40}"),
    ("DeepSeek key", "sk-", r"[0-9a-f]{32}(?![0-9A-Za-z_-])"),
    ("OpenRouter key", "sk-or-v1-", r"[0-9a-f]{64}"),
    ("Hugging Face token", "hf_,api_org_", r"[0-9A-Za-z]{34}"),
    ("Groq key", "gsk_", r"[0-9A-Za-z]{48}"),
    ("xAI key", "xai-", r"[0-9A-Za-z]{60}"),
    ("Perplexity key", "pplx-", r"[0-9A-Za-z]{40}"),
    ("Replicate token", "r8_", r"[0-9A-Za-z]{37}"),
    ("LangSmith key", "lsv2_", r"(?:(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10})"),
    ("Pinecone key", "pcsk_", r"[0-9A-Za-z_]{50}"),
    ("NVIDIA key", "nvapi-", r"[0-9A-Za-z_-]{60}"),
    ("Tavily key", "tvly-", r"(?:(?:dev|prod)-)?[0-9A-Za-z_-]{32}"),
    ("E2B key", "e2b_", r"[0-9a-f]{40}"),
    ("Stripe key", "sk_live_,rk_live_,sk_test_,rk_test_", r"[0-9A-Za-z]{20}"),
    ("Stripe webhook secret", "whsec_", r"[0-9A-Za-z+/=]{24}"),
    ("Square token", "sq0atp-", r"[0-9A-Za-z_-]{22}"),
    ("Square token", "sq0csp-", r"[0-9A-Za-z_-]{43}"),
    ("Square token", "EAAA", r"[0-9A-Za-z_-]{60}(?![0-9A-Za-z+/=_-])"),
    ("Shopify token", "shpat_,shpca_,shppa_,shpss_", r"[0-9A-Fa-f]{32}"),
    ("Google key", "AIza", r"[0-9A-Za-z_-]{35}"),
    ("Google OAuth secret", "GOCSPX-", r"[0-9A-Za-z_-]{28}"),
    ("Google OAuth token", "ya29.", r"[0-9A-Za-z_-]{20}"),
    ("Google service account", "private_key_id", r'(?:\\{0,15}"\s{0,4}:\s{0,4}\\{0,15}"[0-9a-f]{40})'),
    ("Azure account key", "AccountKey=", r"[0-9A-Za-z+/]{80}"),
    ("Azure account key", "SharedAccessKey=", r"[0-9A-Za-z+/]{40}"),
    ("Azure shared access signature", "sig=", r"[0-9A-Za-z%+/]{43,70}(?:%3D|%3d|=)"),
    ("Alibaba Cloud key", "LTAI", r"[0-9A-Za-z]{20}(?![0-9A-Za-z])"),
    ("DigitalOcean token", "dop_v1_,doo_v1_,dor_v1_", r"[0-9a-f]{64}"),
    ("Databricks token", "dapi", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Doppler token", "dp.", r"(?:(?:pt|st|ct|sa|scim|audit)\.(?:[0-9A-Za-z_-]{2,35}\.)?[0-9A-Za-z]{40})"),
    ("Fly.io token", "fo1_", r"[0-9A-Za-z_-]{40}"),
    ("Fly.io token", "fm1r_,fm2_", r"[0-9A-Za-z+/=]{60}"),
    ("Cloudflare origin key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{100}"),
    ("Heroku key", "HRKU-", r"[0-9A-Za-z_-]{36}"),
    ("Netlify token", "nfp_", r"[0-9A-Za-z]{36}"),
    ("Supabase token", "sbp_", r"[0-9a-f]{40}"),
    ("Supabase token", "sb_secret_", r"[0-9A-Za-z_-]{20}"),
    ("PlanetScale token", "pscale_", r"(?:(?:tkn|pw|oauth)_[0-9A-Za-z_.=-]{30})"),
    ("Tailscale key", "tskey-", r"[a-z]{2,12}-[0-9A-Za-z]{6,30}-[0-9A-Za-z]{16}"),
    ("Pulumi token", "pul-", r"[0-9a-f]{40}"),
    ("Vault token", "hvs.,hvb.,hvr.", r"[0-9A-Za-z_-]{24}"),
    ("1Password token", "ops_eyJ", r"[0-9A-Za-z_+/=-]{60}"),
    ("Grafana token", "glsa_", r"[0-9A-Za-z]{32}_[0-9a-f]{8}"),
    ("Grafana token", "glc_", r"[0-9A-Za-z+/=]{32}"),
    ("New Relic key", "NRAK-", r"[0-9A-Z]{27}"),
    ("New Relic key", "NRII-", r"[0-9A-Za-z_-]{32}"),
    ("Sentry token", "sntrys_", r"[0-9A-Za-z_+/=-]{40}"),
    ("Sentry token", "sntryu_", r"[0-9a-f]{64}"),
    ("Sonar token", "sqp_,squ_,sqa_", r"[0-9a-f]{40}"),
    ("Dynatrace token", "dt0c01.", r"[0-9A-Z]{24}\.[0-9A-Z]{64}"),
    ("CircleCI token", "CCIPAT_,CCIPRJ_", r"[0-9A-Za-z]{22}_[0-9a-f]{40}"),
    ("Snyk token", "snyk_uat.,snyk_sat.", r"[0-9a-z]{8}\.[0-9A-Za-z_-]{10,500}\.[0-9A-Za-z_-]{10}"),
    ("PostHog key", "phx_", r"[0-9A-Za-z_-]{43}"),
    ("AWS AppSync key", "da2-", r"[0-9a-z]{26}(?![0-9A-Za-z_-])"),
    ("Mapbox token", "sk.eyJ", r"[0-9A-Za-z_-]{40,500}\.[0-9A-Za-z_-]{20}"),
    ("Buildkite token", "bkua_", r"[0-9a-f]{40}"),
    ("npm token", "npm_", r"[0-9A-Za-z]{36}"),
    ("PyPI token", "pypi-AgEI,pypi-AgEN", r"[0-9A-Za-z_-]{20}"),
    ("crates.io token", "cio", r"[0-9A-Za-z]{32}(?![0-9A-Za-z+/=_-])"),
    ("NuGet key", "oy2", r"[0-9a-z]{43}(?![0-9A-Za-z+/=_-])"),
    ("RubyGems key", "rubygems_", r"[0-9a-f]{48}"),
    ("Clojars token", "CLOJARS_", r"[0-9a-z]{60}"),
    ("Docker token", "dckr_pat_,dckr_oat_", r"[0-9A-Za-z_-]{27}"),
    ("JFrog token", "AKCp", r"[0-9A-Za-z]{60}"),
    ("JFrog token", "cmVmdGtu", r"[0-9A-Za-z]{56}"),
    ("Linear token", "lin_api_,lin_oauth_", r"[0-9A-Za-z]{32}"),
    ("Notion token", "ntn_", r"[0-9A-Za-z]{40}"),
    ("Notion token", "secret_", r"[0-9A-Za-z]{43}(?![0-9A-Za-z_-])"),
    ("Figma token", "figd_", r"[0-9A-Za-z_-]{40}"),
    ("Airtable token", "pat", r"[0-9A-Za-z]{14}\.[0-9a-f]{64}"),
    ("Postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    ("HubSpot token", "pat-", r"(?:(?:na|eu|ap)[0-9]-[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})"),
    ("SendGrid key", "SG.", r"[0-9A-Za-z_-]{16,32}\.[0-9A-Za-z_-]{32}"),
    ("Brevo key", "xkeysib-", r"[0-9a-f]{64}"),
    ("Mailgun key", "key-", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Twilio key", "SK", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("JSON web token", "eyJ", r"[0-9A-Za-z_-]{10,4000}\.eyJ[0-9A-Za-z_-]{10,4000}\.[0-9A-Za-z_-]{10}"),
    ("password in a URL", "://", rf"(?P<user>{IN_NAME}{{0,64}}):(?P<password>{IN_VALUE}{{3,128}})@(?!sha[0-9])"),
    ("token in a URL", "://", r"(?=[A-Za-z_-]{0,128}[0-9])[0-9A-Za-z_-]{40,128}@"),
)
TOKENS = tuple((kind, mark, pattern) for kind, marks, pattern in FORMATS for mark in marks.split(","))

# The text between a name and its value, also in nested JSON: at four levels, a quotation mark has 15 backslashes.
TO_VALUE = r"[\"'\\]{0,16}\s{0,4}[:=]\s{0,4}[\"'\\]{0,16}"
MADE = r"(?=[0-9A-Za-z_.~+/=-]{0,200}(?:[0-9]|[a-z][A-Z]))"  # the following text looks generated
FORTY = r"(?P<secret>(?<![0-9A-Za-z+/])(?![0-9a-f]{40})[0-9A-Za-z+/]{40})(?![0-9A-Za-z+/=])"  # not a commit id
OPAQUE = rf"(?P<secret>(?P<opaque>{MADE}[0-9A-Za-z_.~+/=-]{{16}}))"
BASIC = r"(?P<secret>(?P<basic>[0-9A-Za-z+/]{8,400}={0,2}))(?![0-9A-Za-z_-])"
BARE = r"(?P<secret>(?P<opaque>(?=[0-9A-Za-z]{0,100}[0-9])[0-9A-Za-z]{20}))"
DISCORD = r"(?P<secret>[MNO][0-9A-Za-z_-]{23,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27})"
HOST = r"[\w-]{1,80}\.[\w.-]{1,80}"
NETRC = r"(?P<secret>(?P<password>[^\s\"\\]{3,128}))"
AUTHORIZATION = ("Authorization", "authorization", "AUTHORIZATION")
# (kind, marks, whole pattern, in which MARK stands for the mark). These secrets do not begin with their mark, or are
# recognized by the text next to them. That text is `kept` when the `secret` is masked.
BESIDE = (
    ("AWS secret key", ("AKIA", "ASIA"), r"(?P<kept>MARK[0-9A-Z]{16}[^0-9A-Za-z][^\x00]{0,200}?)" + FORTY),
    ("AWS secret key", ("AKIA", "ASIA"), FORTY + r"(?=[^0-9A-Za-z+/=][^\x00]{0,200}?MARK[0-9A-Z]{16})"),
    (
        "AWS secret key",
        ("secret_access_key", "SECRET_ACCESS_KEY", "ecretAccessKey"),
        f"(?P<kept>MARK{TO_VALUE}){FORTY}",
    ),
    ("authorization header", AUTHORIZATION, rf"(?P<kept>MARK{TO_VALUE}(?i:bearer|token|bot)\s{{1,4}}){OPAQUE}"),
    ("authorization header", AUTHORIZATION, rf"(?P<kept>MARK{TO_VALUE}(?i:basic)\s{{1,4}}){BASIC}"),
    ("authorization header", ("Bearer", "bearer", "BEARER"), rf"(?P<kept>MARK\s{{1,4}}){BARE}"),
    ("API key header", ("X-API-Key", "X-Api-Key", "x-api-key", "X-API-KEY"), f"(?P<kept>MARK{TO_VALUE}){OPAQUE}"),
    ("API key header", ("X-Auth-Token", "x-auth-token"), f"(?P<kept>MARK{TO_VALUE}){OPAQUE}"),
    ("npm token", ("_authToken",), rf"(?P<kept>MARK\s{{0,2}}=\s{{0,2}}[\"']?){OPAQUE}"),
    ("registry password", ("_auth",), rf"(?P<kept>MARK\s{{0,2}}=\s{{0,2}}[\"']?){BASIC}"),
    ("registry password", ('"auth"', '"auth\\'), f"(?P<kept>MARK{TO_VALUE}){BASIC}"),
    (
        "netrc password",
        ("machine ",),
        rf"(?P<kept>MARK\s{{0,4}}{HOST}\s{{1,8}}login\s{{1,4}}(?P<user>\S{{1,100}})\s{{1,8}}password\s{{1,4}}){NETRC}",
    ),
    ("Azure DevOps token", ("AZDO",), r"(?P<secret>(?<![0-9A-Za-z])[0-9A-Za-z]{76}MARK[0-9A-Za-z]{4})(?![0-9A-Za-z])"),
    ("Azure client secret", ("Q~",), r"(?P<secret>(?<![0-9A-Za-z_.~-])[0-9A-Za-z_.~-]{3}[0-9]MARK[0-9A-Za-z_.~-]{31})"),
    ("Telegram bot token", (":AA",), r"(?P<secret>(?<![0-9A-Za-z])[0-9]{8,10}MARK[0-9A-Za-z_-]{33})(?![0-9A-Za-z_-])"),
    ("Terraform token", ("atlasv1",), r"(?P<secret>(?<![0-9A-Za-z])[0-9A-Za-z]{14}\.MARK\.[0-9A-Za-z_=-]{60})"),
    ("Heroku key", ("HEROKU_API_KEY", "heroku_api_key"), f"(?P<kept>MARK{TO_VALUE})(?P<secret>{UUID})"),
    ("Discord bot token", ("DISCORD", "Discord", "discord"), rf"(?P<kept>MARK[^\n]{{0,60}}?(?<![\w-])){DISCORD}"),
    (
        "Cloudflare token",
        ("CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY", "CF_API_TOKEN"),
        f"(?P<kept>MARK{TO_VALUE})(?P<secret>{MADE}[0-9A-Za-z_-]{{37}})",
    ),
    (
        "Twilio auth token",
        ("TWILIO_AUTH_TOKEN", "twilio_auth_token"),
        f"(?P<kept>MARK{TO_VALUE})(?P<secret>[0-9a-f]{{32}})(?![0-9A-Za-z])",
    ),
)
MARKS = tuple(dict.fromkeys([*(mark for _, mark, _ in TOKENS), *(mark for _, marks, _ in BESIDE for mark in marks)]))
# A cache of texts without marks: imported texts are checked twice, before and during recording, and names are repeated.
# When it is full, the older half of it is dropped, so the texts of a batch stay until they are checked again.
UNMARKED: set[str] = set()
UNMARKED_BEFORE: set[str] = set()
MOST_UNMARKED, LONG = 10_000, 1024
# A mark that starts with a letter must be at the start of a word: `task-` is not `sk-`. This also prevents repeated
# searches within one long word. In escaped text a word may also start after an escape, as in `\\nghp_…`.
# The condition comes after the mark, because a pattern that begins with plain letters is much faster.
WORD_START = r"MARK(?:(?<!BEFOREMARK)|(?<=\\[bfnrt]MARK)|(?<=\\u[0-9A-Fa-f]{4}MARK))"
BEFORE = {
    "eyJ": "[0-9A-Za-z_-]",  # the mark may occur several times within a word
    **dict.fromkeys(("cio", "oy2", "EAAA"), "[0-9A-Za-z_+/-]"),  # short marks, which occur in base64 by chance
}
# The whole extent of a secret: the rest of its word, or all lines of a key.
REST_OF_WORD = r"[0-9A-Za-z_/+=.-]*"
KEY_LINES = rf"[0-9A-Za-z+/=]*(?:{BREAK}+[0-9A-Za-z+/=]{{12,}})*"
KEY_END = rf"(?:{BREAK}+[0-9A-Za-z+/=]{{1,11}})?{BREAK}+-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
REST_OF_KEY = rf"(?:{KEY_LINES}{KEY_END}|{KEY_LINES})"
# The characters of a long word, by the class with which its pattern begins.
BEGINNING = 12
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ALPHABETS = (
    ("[0-9a-f]", "0123456789abcdef"),
    ("[0-9A-Za-z]", "0123456789" + LETTERS),
    ("[", "0123456789_+/=.%-" + LETTERS),
)
LOOKS = 16  # occurrences of a mark that are checked; if there are more, the pattern decides

SecretFound = Refused.declare(
    "SECRET_FOUND",
    "The text seems to contain a secret, which could not be deleted from the ledger",
    hint="remove it from the text; if it is not a secret, pass --allow-secret REASON, if the command has that option",
)


def found(text: str) -> list[str]:
    """The kinds of secrets that TEXT seems to contain."""
    return sorted({kind for kind, pattern, mark in _suspects(text) if _holds(pattern, text, mark)})


def may_hold(text: str) -> bool:
    """Whether TEXT has any mark. If TEXT combines many texts, each must then be checked separately."""
    if text in UNMARKED or text in UNMARKED_BEFORE:
        return False
    if any(map(text.__contains__, MARKS)):
        return True
    if len(text) < LONG:
        if len(UNMARKED) >= MOST_UNMARKED:
            UNMARKED_BEFORE.clear()
            UNMARKED_BEFORE.update(UNMARKED)
            UNMARKED.clear()
        UNMARKED.add(text)
    return False


def found_in(octets: bytes) -> list[str]:
    """The kinds of secrets that a file seems to contain. It may be text in any Unicode encoding, or binary."""
    kinds = set(found(octets.decode("latin-1")))
    start = octets[:4096]
    if start.count(0) * 4 > len(start) or start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        kinds.update(found(octets.replace(b"\0", b"").decode("latin-1")))  # UTF-16 or UTF-32
    return sorted(kinds)


def masked(text: str) -> str:
    """TEXT with each secret replaced by its kind, for reports that people paste elsewhere."""
    for kind, pattern, mark in _suspects(text):
        import re  # noqa: PLC0415  (only for texts with a mark)

        whole = REST_OF_KEY if kind == "private key" else REST_OF_WORD
        text = re.sub(pattern + whole, lambda match, kind=kind, mark=mark: _masked(match, kind, mark), text)  # type: ignore[misc]
    return text


def refuse_secrets(text: str, allowed_because: str | None = None) -> None:
    """Refuse TEXT if it seems to contain a secret, unless there is a reason to allow it."""
    if not allowed_because and (kinds := found(text)):
        raise SecretFound(f"the text seems to contain a secret: {', '.join(kinds)}", kinds=kinds)


def _suspects(text: str) -> Iterator[tuple[str, str, str]]:
    """The kinds of secrets that TEXT may contain according to its marks, each with its pattern and mark. Secrets that
    are recognized by the text next to them come first, because that text may be masked later."""
    if not may_hold(text):
        return
    marks = list(filter(text.__contains__, MARKS))
    for kind, theirs, pattern in BESIDE:
        for mark in theirs:
            if mark in marks:
                yield kind, pattern.replace("MARK", mark.replace("\\", r"\\")), mark
    for kind, mark, rest in TOKENS:
        if mark in marks and _may_begin(text, mark, rest):
            yield kind, f"(?P<secret>{_begun(mark)}{rest})", mark


def _may_begin(text: str, mark: str, rest: str) -> bool:
    """Whether MARK is at the start of a word and, if required, followed by a long word. This check avoids importing
    `re` for texts such as `task-12` and `pattern`."""
    if mark == "://":
        return "@" in text
    alphabet = next((characters for begins, characters in ALPHABETS if rest.startswith(begins)), None)
    at, looks = text.find(mark), 0
    while at >= 0 and looks < LOOKS:
        following = text[at + len(mark) : at + len(mark) + BEGINNING]
        is_long = alphabet is None or (len(following) == BEGINNING and not following.strip(alphabet))
        if is_long and (not mark[0].isalpha() or at == 0 or text[at - 1] not in ALPHABETS[1][1] or "\\" in text):
            return True
        at, looks = text.find(mark, at + 1), looks + 1
    return looks == LOOKS


def _begun(mark: str) -> str:
    """The pattern for MARK. If MARK starts with a letter, it must be at the start of a word."""
    escaped = mark.replace(".", r"\.").replace("-", r"\-")
    if not mark[0].isalpha():
        return escaped
    return WORD_START.replace("BEFORE", BEFORE.get(mark, "[0-9A-Za-z]")).replace("MARK", escaped)


def _holds(pattern: str, text: str, mark: str) -> bool:
    import re  # noqa: PLC0415  (only for texts with a mark)

    return any(not _is_stand_in(match, mark) for match in re.finditer(pattern, text))


def _masked(match: Match[str], kind: str, mark: str) -> str:
    return match[0] if _is_stand_in(match, mark) else f"{match.groupdict().get('kept', '')}[{kind}]"


def _is_stand_in(match: Match[str], mark: str) -> bool:
    from bb.kernel import example_secrets  # noqa: PLC0415  (only if there is a match)

    return example_secrets.is_stand_in(match, mark)
