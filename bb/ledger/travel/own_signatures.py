"""The signatures of a sync: the list of signers as it reads it, and the key that signs our lines and commits."""

from __future__ import annotations

from bb.coordination.records import signers
from bb.ledger.index import counting
from bb.ledger.records import policy
from bb.ledger.signing import keys, ssh_signatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.kernel.errors import BbError
    from bb.ledger.records.policy import SignerPolicy
    from bb.ledger.records.store import Store
    from bb.ledger.signing.keys import Key


class OwnSignatures:
    """Signs the lines of STORE. REMOTE has the reviewed list of signers."""

    def __init__(self, store: Store, remote: str, now: int) -> None:
        self._store = store
        self._remote = remote
        self._now = now
        self._known: SignerPolicy | None = None
        self.failure: BbError | None = None  # why signing failed

    def forget(self) -> None:
        """Read the list again when it is needed next: our writer has changed."""
        self._known = None

    def read_again(self, seen: tuple[str | None, str] | None = None) -> None:
        """Read the list again, or take it as SEEN."""
        self._known = policy.refresh(self._store, self._now, remote=self._remote, seen=seen)

    @property
    def known(self) -> SignerPolicy:
        """The list of signers, and the key that we sign with."""
        if self._known is None:
            objects = self._store.git.objects  # starting git takes as long as the import of the library
            if self._is_to_sign():
                keys.ed25519()
            self._known = policy.refresh(self._store, self._now, remote=self._remote, objects=objects)
        return self._known

    def _is_to_sign(self) -> bool:
        """Whether our lines are probably to be signed, judged before the reviewed file is read."""
        store, last = self._store, policy.cached(self._store)
        if not (store.exists and store.writer) or (last and last.mode == signers.OFF):
            return False
        index = store.caught_up()
        return index.head_of(store.writer) > counting.signed_upto(index, store.writer)[0]

    def sign(self) -> None:
        """Sign our lines, unless the last one is a signature by our key already."""
        store = self._store
        if self.known.mode == signers.OFF or self.failure or not store.writer:
            return
        last = store.caught_up().head_of(store.writer)
        n, signature = counting.signed_upto(store.index, store.writer)
        if not last or (n == last and self._is_ours(signature)):
            return
        try:
            if self.known.key is None and self.known.trouble is None:
                self._known = policy.refresh(store, self._now, makes=True, remote=self._remote)
            key = self.known.must_have_key()
            store.sign(key, self._now)
        except keys.SigningFailed.error as refusal:
            if self.known.mode == signers.REQUIRE:
                raise
            self.failure = refusal

    def _is_ours(self, signature: str) -> bool:
        """Whether a signature names our key. True if we have no key."""
        try:
            key = self.known.key
            return key is None or ssh_signatures.read(ssh_signatures.decoded(signature)).key == key.public
        except ssh_signatures.Malformed:
            return False

    @property
    def key(self) -> Key | None:
        """The key that signs commits; None if signing is off or fails."""
        is_off = self.known.mode == signers.OFF or self.failure is not None
        return None if is_off else self.known.key
