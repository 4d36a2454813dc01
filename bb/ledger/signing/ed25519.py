"""Checks Ed25519 signatures: with `cryptography`, or with OpenSSH's `ssh-keygen` where no packages are installed.

A signature that cannot be checked is neither valid nor invalid: a line that wrongly counts and a line that wrongly does
not count may both let a change pass. So without either program the check is refused.
"""

from __future__ import annotations

import os

from bb.kernel.errors import Refused
from bb.ledger.files import disk, processes
from bb.ledger.signing import ssh_signatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.signing.ssh_signatures import Signature

PATIENCE = 10.0
INVALID = "incorrect signature"  # what ssh-keygen says of a signature by another key or of other text
# The order of Ed25519's base point. OpenSSL refuses a signature whose second half is not below it, and OpenSSH does
# not, so without this rule the two could differ.
ORDER = 2**252 + 27742317777372353535851937790883648493

CannotVerify = Refused.declare(
    "CANNOT_VERIFY",
    "Signatures must be checked, and no program here can do it",
    hint="install OpenSSH 8.2 or later (`ssh-keygen`), or bb with its packages: `pip install beadboard`",
)


def is_valid(signature: Signature, message: bytes) -> bool:
    """Whether SIGNATURE was made over MESSAGE with the key that it names."""
    if int.from_bytes(signature.octets[32:], "little") >= ORDER:
        return False
    try:
        # The import takes as long as starting Python.
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    except ImportError:
        return _is_valid_for_openssh(signature, message)
    octets = ssh_signatures.to_sign(signature.namespace, message, signature.hash)
    try:
        Ed25519PublicKey.from_public_bytes(signature.key).verify(signature.octets, octets)
    except (InvalidSignature, ValueError):
        return False
    return True


def _is_valid_for_openssh(signature: Signature, message: bytes) -> bool:
    """The same by `ssh-keygen`. It gets the signature as it was read here, so it cannot read another key out of it."""
    text = ssh_signatures.armored(
        ssh_signatures.blob(signature.key, signature.namespace, signature.octets, signature.hash)
    )
    folder = disk.temporary_folder("bb-signature-")
    try:
        path = os.path.join(folder, "signature")
        disk.replace(path, text.encode())
        command = ["ssh-keygen", "-Y", "check-novalidate", "-n", signature.namespace, "-s", path]
        try:
            child = processes.start(command, {**os.environ, "LC_ALL": "C"})
        except OSError as error:
            raise CannotVerify("signatures must be checked, and ssh-keygen cannot be started") from error
        status, _, err = child.communicate(message, PATIENCE)
    finally:
        disk.remove_folder(folder)
    if status != 0 and INVALID not in err.decode("utf-8", "replace"):
        raise CannotVerify("signatures must be checked, and ssh-keygen could not check one")
    return status == 0
