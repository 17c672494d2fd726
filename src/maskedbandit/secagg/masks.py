"""Keys, masks and seals: the secrets that two devices have in common.

Two devices agree on a secret by X25519; HKDF turns it into a key for what they send each other, or into a mask. A mask
is 32 bytes modulo m: uniform if m is a power of two, and within m / 2^256 of uniform otherwise. If a value is a vector,
packed into one number modulo an m above 2^64, its masks are 24 bytes longer than m. A device has two key pairs, because
the mask key is revealed if the device is lost, and what was sealed before must stay sealed. The private mask key is
derived from a seed of 16 bytes, like the device's own mask, so that both seeds are shared in the same way.
"""

from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from maskedbandit.errors import Forged
from maskedbandit.privacy.sampling import Bits

SEED = 16  # bytes of a seed; as a number it is below the prime of the key shares
KEY = 32  # bytes of a public key, of a session and of a hash
SEAL_SIZE = 16  # bytes that encryption adds
VALUE_SIZE = 8  # bytes of a single value
SPARE = 24  # bytes by which a mask is longer than its modulus: of one number, whose masks have 32, and of a vector
LARGEST_PACKED = 1 << 8 * (255 * 32 - SPARE)  # a modulus: HKDF gives no longer masks


def random_bytes(n: int, bits: Bits) -> bytes:
    """Uniform bytes."""
    return bits.below(1 << 8 * n).to_bytes(n)


def user_bytes(user: int) -> bytes:
    """A user's number as bytes of a fixed length."""
    return user.to_bytes(8)


def derive_key(secret: bytes, session: bytes, purpose: bytes, size: int = KEY) -> bytes:
    """So many bytes for one purpose in one session."""
    return HKDF(SHA256(), size, salt=session, info=purpose).derive(secret)


def measure_residue(modulus: int) -> int:
    """Bytes of a residue in a message; all up to 2^64 have the same number."""
    return max(VALUE_SIZE, -(-(modulus - 1).bit_length() // 8))


def derive_mask(secret: bytes, session: bytes, purpose: bytes, modulus: int) -> int:
    """A residue for one purpose in one session, which nobody without the secret tells from a uniform one."""
    return int.from_bytes(derive_key(secret, session, purpose, measure_residue(modulus) + SPARE)) % modulus


def seed_key_pair(seed: bytes, session: bytes, purpose: bytes) -> tuple[X25519PrivateKey, bytes]:
    """The private and public key that a seed gives."""
    private = X25519PrivateKey.from_private_bytes(derive_key(seed, session, purpose))
    return private, private.public_key().public_bytes_raw()


def agree_secret(private: X25519PrivateKey, public: bytes) -> bytes:
    """The secret that two key pairs agree on; public keys that would make it a constant are refused.

    A public key has several encodings (RFC 7748, section 5), and adding a point of low order gives further keys that
    agree with everybody on the same secrets. So two keys are compared by what they agree on with one private key.
    """
    try:
        return private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise Forged("another user's public key is not a valid X25519 key") from None


def pair_purpose(purpose: bytes, user: int, other: int) -> bytes:
    """A purpose in which two users are named, the same for both."""
    return purpose + user_bytes(min(user, other)) + user_bytes(max(user, other))


def pair_mask(secret: bytes, session: bytes, user: int, other: int, modulus: int) -> int:
    """What `user` adds to its value: the mask if it has the smaller number, else minus the mask. The pair cancels."""
    mask = derive_mask(secret, session, pair_purpose(b"pair", user, other), modulus)
    return mask if user < other else -mask


def own_mask(seed: bytes, session: bytes, user: int, modulus: int) -> int:
    """The mask that hides a user even if all its pair masks are known."""
    return derive_mask(seed, session, b"own" + user_bytes(user), modulus)


def mask_value(value: int, own: int, pairs: list[int], modulus: int) -> int:
    """What the server receives: the value plus the user's own mask and all its pair masks."""
    return (value + own + sum(pairs)) % modulus


def commit_seed(seed: bytes, session: bytes, user: int) -> bytes:
    """A hash by which a seed that was rebuilt from key shares is checked."""
    return sha256(b"maskedbandit own mask" + session + user_bytes(user) + seed).digest()


def envelope(sender: int, receiver: int, session: bytes) -> tuple[bytes, bytes]:
    """Nonce and associated data of the one message that a user seals for another in a session."""
    return user_bytes(sender) + bytes(4), b"maskedbandit key shares" + session + user_bytes(sender) + user_bytes(
        receiver
    )


def seal_text(key: bytes, sender: int, receiver: int, session: bytes, text: bytes) -> bytes:
    """Encrypt a text for one receiver."""
    nonce, context = envelope(sender, receiver, session)
    return ChaCha20Poly1305(key).encrypt(nonce, text, context)


def open_text(key: bytes, sender: int, receiver: int, session: bytes, sealed: bytes) -> bytes:
    """Decrypt what a sender sealed for this receiver in this session."""
    nonce, context = envelope(sender, receiver, session)
    try:
        return ChaCha20Poly1305(key).decrypt(nonce, sealed, context)
    except InvalidTag:
        raise Forged(f"what user {sender} sealed for user {receiver} was altered or is of another session") from None
