"""The key that this clone signs with: the SSH key that git is configured to sign with, else a key made by bb.

    gpg.format=ssh in the user's configuration     `ssh-keygen -Y sign` with user.signingKey, as git itself does it
    else                                           <store>/keys/<writer>, made at the first signature

A repository's own configuration of keys and programs is ignored, because it is not trusted. Nothing here prompts. If a
key needs a passphrase or a touch, signing is refused with a code.
"""

from __future__ import annotations

import os

from bb.kernel.errors import Refused
from bb.kernel.record import Record
from bb.ledger.files import disk, processes
from bb.ledger.git import git, program
from bb.ledger.journal import writers
from bb.ledger.signing import ssh_signatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FOLDER = "keys"
PUBLIC = ".pub"
OTHERS = 0o077
PATIENCE = 10.0
BY_GIT, BY_BB = "git", "bb"
ASKED = r"^(gpg\.format|gpg\.ssh\.program|gpg\.ssh\.defaultkeycommand|user\.signingkey)$"
OF_THE_USER = ("system", "global")
PROGRAM = "ssh-keygen"
QUIET = {"SSH_ASKPASS_REQUIRE": "never", "SSH_ASKPASS": "", "DISPLAY": "", "LC_ALL": "C"}
LITERAL = ("ssh-", "key::")

SigningFailed = Refused.declare(
    "SIGNING_FAILED",
    "Signing failed",
    hint="load the key into ssh-agent, or run `bb ledger key --own` to sign with a key of bb's own",
)


class Key(Record):
    """A key that can sign, and its location."""

    public: bytes
    source: str
    path: str  # of the key file
    program: str = PROGRAM
    seed: bytes = b""
    literal: str = ""  # the public key, if git's configuration contains the key itself instead of a path

    @property
    def line(self) -> str:
        """The public key in base64."""
        return ssh_signatures.public_line(self.public).split()[1]

    @property
    def fingerprint(self) -> str:
        return ssh_signatures.fingerprint(self.public)

    def sign(self, message: bytes, namespace: str) -> bytes:
        """The signature blob of MESSAGE."""
        return self._by_program(message, namespace) if self.source == BY_GIT else self._by_seed(message, namespace)

    def _by_seed(self, message: bytes, namespace: str) -> bytes:
        octets = ed25519()(self.seed).sign(ssh_signatures.to_sign(namespace, message))
        return ssh_signatures.blob(self.public, namespace, octets)

    def _by_program(self, message: bytes, namespace: str) -> bytes:
        folder = disk.temporary_folder("bb-key-") if self.literal else ""
        try:
            path = self.path
            if self.literal:
                path = os.path.join(folder, "key")
                disk.replace(path, self.literal.encode() + b"\n", mode=0o600)
            agent = ["-U"] if self.literal else []
            out = _run([self.program, "-Y", "sign", "-n", namespace, "-f", path, *agent], message)
            signature = ssh_signatures.read(blob := ssh_signatures.unarmored(out))
        except ssh_signatures.Malformed as error:
            raise SigningFailed(f"{self.program} did not return an Ed25519 signature: {error}") from None
        finally:
            if folder:
                disk.remove_folder(folder)
        if (signature.key, signature.namespace) != (self.public, namespace):
            raise SigningFailed(f"{self.program} signed with a key other than {self.fingerprint}")
        return blob


def ed25519() -> Callable[[bytes], Ed25519PrivateKey]:
    """The library's function that makes a private key from its seed. Importing it takes as long as starting git, so a
    sync does both at once.

    The library's compiled part has it too, and is imported in less than half the time.
    """
    try:
        from cryptography.hazmat.bindings._rust import openssl  # noqa: PLC0415

        from_seed = openssl.ed25519.from_private_bytes
    except (ImportError, AttributeError):  # the library does not promise that this part stays as it is
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

        from_seed = Ed25519PrivateKey.from_private_bytes
    return from_seed


def signing_key(store: str, writer: str, git_dir: str, *, makes: bool = False) -> Key | None:
    """The key that signs the lines of WRITER. If there is none, make one with MAKES, else return None."""
    if not uses_own(store) and (key := _of_git(git_dir)):
        return key
    return own_key(store, writer) or _inherited(store, writer) or (make_key(store, writer) if makes else None)


# -- a key of bb's own


OWN_ONLY = "own"  # an empty file in the folder of keys: this clone does not use git's signing key


def uses_own(store: str) -> bool:
    """Whether this clone is set to sign with a key of bb's own, whatever git's configuration says."""
    return os.path.exists(os.path.join(store, FOLDER, OWN_ONLY))


def use_own(store: str) -> None:
    """Set this clone to sign with a key of bb's own."""
    _folder(store)
    disk.replace(os.path.join(store, FOLDER, OWN_ONLY), b"")


def own_key(store: str, writer: str) -> Key | None:
    """The key that bb made for WRITER; None if there is none."""
    path = os.path.join(store, FOLDER, writer)
    written = disk.read_small(path)
    if written is None:
        return None
    if hasattr(os, "geteuid") and os.stat(path).st_mode & OTHERS:
        raise SigningFailed(
            f"{path} can be read by other users",
            hint="others may have copied this key: run `bb ledger key --rotate` to make another",
        )
    try:
        seed, public = ssh_signatures.private_key(written.decode("ascii", "replace"))
    except ssh_signatures.Malformed as error:
        hint = "run `bb ledger key --rotate` to make another key"
        raise SigningFailed(f"{path} does not contain a usable key: {error}", hint=hint) from None
    return Key(public, BY_BB, path, seed=seed)


def _inherited(store: str, writer: str) -> Key | None:
    """The key of a retired writer of this store, moved to WRITER, so that it need not be listed again as a signer."""
    for before in writers.retired_own_writers(os.path.join(store, "j")):
        path = os.path.join(store, FOLDER, before)
        if before != writer and os.path.exists(path):
            os.replace(path, os.path.join(store, FOLDER, writer))
            if os.path.exists(path + PUBLIC):
                os.replace(path + PUBLIC, os.path.join(store, FOLDER, writer + PUBLIC))
            return own_key(store, writer)
    return None


def make_key(store: str, writer: str) -> Key:
    """Make a new key for WRITER; it replaces an existing one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    seed = os.urandom(ssh_signatures.KEY_OCTETS)
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    comment = f"bb-{writer}"
    path = os.path.join(_folder(store), writer)
    text = ssh_signatures.private_text(seed, public, comment, os.urandom(4))
    _put(path, text.encode(), 0o600)
    _put(path + PUBLIC, (ssh_signatures.public_line(public, comment) + "\n").encode(), 0o600)
    return Key(public, BY_BB, path, seed=seed)


def _folder(store: str) -> str:
    folder = os.path.join(store, FOLDER)
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        os.chmod(folder, 0o700)  # the umask may have removed permissions
    except OSError as error:
        raise disk.refusal(error) from error
    return folder


def _put(path: str, octets: bytes, mode: int) -> None:
    """Write OCTETS to PATH atomically, with the permissions MODE whatever the umask."""
    folder, name = os.path.split(path)
    staged = os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(fd, mode)
            disk.write_all(fd, octets)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(staged, path)
        disk.sync_folder(os.path.dirname(path))
    except OSError as error:
        disk.remove_if_there(staged)
        raise disk.refusal(error) from error


# -- git's signing key


def _of_git(git_dir: str) -> Key | None:
    """The key that git signs the user's commits with, if it is an Ed25519 SSH key."""
    settings = signing_settings(git_dir) if _may_use_ssh(os.environ) else {}
    if settings.get("gpg.format") != "ssh":
        return None
    program = settings.get("gpg.ssh.program") or PROGRAM
    named = settings.get("user.signingkey") or _by_command(settings.get("gpg.ssh.defaultkeycommand"))
    if not named:
        return None
    try:
        if named.startswith(LITERAL):
            text = named.removeprefix("key::").strip()
            return Key(_public_in(text), BY_GIT, "", os.path.expanduser(program), literal=text)
        path = os.path.expanduser(named)
        return Key(_public_at(path), BY_GIT, path, os.path.expanduser(program))
    except ssh_signatures.Malformed:
        return None  # a key of another type: bb signs with a key of its own


def signing_settings(git_dir: str) -> dict[str, str]:
    """git's settings about signing from the user's and the system's configuration, without the repository's."""
    done = git.ask(["config", "--show-scope", "-z", "--get-regexp", ASKED], git_dir=git_dir)
    words = done.out.decode("utf-8", "replace").split("\0")
    pairs = zip(words[::2], words[1::2], strict=False)
    return {
        name.lower(): value
        for scope, pair in pairs
        if scope in OF_THE_USER
        for name, _, value in [pair.partition("\n")]
    }


def _may_use_ssh(env: Mapping[str, str]) -> bool:
    """Whether git's configuration could mention SSH signing. Reading its files is faster than starting git."""
    if os.name != "posix" or not os.path.isdir("/proc"):
        return True  # the location of the system's configuration varies too much
    home = env.get("HOME") or os.path.expanduser("~")
    xdg = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    named = env.get("GIT_CONFIG_GLOBAL")
    files = [named] if named is not None else [os.path.join(xdg, "git", "config"), os.path.join(home, ".gitconfig")]
    if env.get("GIT_CONFIG_NOSYSTEM", "").lower() not in ("1", "true", "yes", "on"):
        files += [env.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig", "/usr/local/etc/gitconfig"]
    for path in files:
        try:
            written = (disk.read_small(path, 1 << 20) or b"").lower() if path else b""
        except Refused:
            return True
        if b"ssh" in written or b"include" in written:
            return True
    return False


def _by_command(command: str | None) -> str | None:
    """The key that the user's gpg.ssh.defaultKeyCommand prints."""
    if not command:
        return None
    try:
        rows = _run(["sh", "-c", command], b"").splitlines()
    except SigningFailed.error:
        return None
    return rows[0].strip() if rows and rows[0].strip().startswith(LITERAL) else None


def _public_in(text: str) -> bytes:
    words = text.split()
    if len(words) < 2:
        raise ssh_signatures.Malformed("the file contains no key")
    return ssh_signatures.public_key(words[0], words[1])


def _public_at(path: str) -> bytes:
    """The public key of a key pair. PATH names the private or the public file."""
    for key_file in (path if path.endswith(PUBLIC) else path + PUBLIC, path):
        try:
            written = disk.read_small(key_file)
        except Refused:
            continue
        text = (written or b"").decode("utf-8", "replace")
        if text.startswith(ssh_signatures.KIND.decode()):
            return _public_in(text)
        if ssh_signatures.KEY_BEGIN in text:
            return ssh_signatures.private_key(text)[1]
    raise ssh_signatures.Malformed("the file contains no key")


def _run(command: list[str], given: bytes) -> str:
    env = {name: value for name, value in os.environ.items() if name not in program.SCRUBBED} | QUIET
    try:
        status, out, err = processes.start(command, env).communicate(given, PATIENCE)
    except OSError as error:
        raise SigningFailed(f"{command[0]} cannot be started: {error.strerror}") from error
    if status != 0:
        errors = err.decode("utf-8", "replace").strip().splitlines()
        why = "it took too long" if status is None else errors[-1][:200] if errors else f"exit status {status}"
        raise SigningFailed(f"{os.path.basename(command[0])} cannot sign: {why}")
    return out.decode("utf-8", "replace")
