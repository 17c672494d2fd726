"""The primitives that protocols stand on give the answers of their standards, called as the protocols call them."""

import hmac

import pytest
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

from maskedbandit.errors import Forged
from maskedbandit.secagg import masks
from maskedbandit.secagg.server_pair import PAIR_SUITE
from tests.for_each import for_each

h = bytes.fromhex


def flipped(text, position=0):
    """The same bytes but for one bit."""
    return text[:position] + bytes((text[position] ^ 1,)) + text[position + 1 :]


class TestX25519:
    """RFC 7748."""

    def dh(self, scalar, u):
        return masks.agree_secret(X25519PrivateKey.from_private_bytes(scalar), u)

    @for_each(
        ("scalar", "u", "product"),
        [
            (
                "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
                "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
                "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
            ),
            (
                "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
                "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
                "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
            ),
            (  # section 6.1: Bob's private key, Alice's public one
                "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
                "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
                "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
            ),
        ],
    )
    def test_section_5_and_6(self, scalar, u, product):
        assert self.dh(h(scalar), h(u)) == h(product)
        assert self.dh(flipped(h(scalar), 9), h(u)) != h(product)

    def test_a_public_key_is_the_product_with_nine(self):
        private = X25519PrivateKey.from_private_bytes(
            h("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
        )
        public = h("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
        assert private.public_key().public_bytes_raw() == public

    @for_each(
        ("times", "result"),
        [
            (1, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"),
            (1000, "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"),
        ],
    )
    def test_iterated(self, times, result):
        k = u = (9).to_bytes(32, "little")
        for _ in range(times):
            k, u = self.dh(k, u), k
        assert k == h(result)

    @for_each(
        "u",
        [
            bytes(32),
            (1).to_bytes(32, "little"),
            (2**255 - 20).to_bytes(32, "little"),  # -1
            (2**255 - 19).to_bytes(32, "little"),  # 0, not reduced
            (2**255 - 18).to_bytes(32, "little"),  # 1, not reduced
            h("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),  # of order 8
            h("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),  # of order 8
        ],
    )
    def test_points_of_low_order_are_refused(self, u):
        private = X25519PrivateKey.generate()
        with pytest.raises(ValueError, match="shared key"):
            private.exchange(X25519PublicKey.from_public_bytes(u))
        with pytest.raises(Forged):
            masks.agree_secret(private, u)
        with pytest.raises(ValueError, match="shared key"):
            PAIR_SUITE.encrypt(b"text", X25519PublicKey.from_public_bytes(u), b"info")

    def test_a_key_of_another_length_is_refused(self):
        with pytest.raises(Forged):
            masks.agree_secret(X25519PrivateKey.generate(), bytes(31))


@for_each(
    ("secret", "salt", "info", "okm"),
    [
        (
            bytes((0x0B,)) * 22,
            bytes(range(13)),
            bytes(range(0xF0, 0xFA)),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            bytes(range(0x50)),
            bytes(range(0x60, 0xB0)),
            bytes(range(0xB0, 0x100)),
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
            "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
        ),
        (
            bytes((0x0B,)) * 22,
            b"",
            b"",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ],
)
def test_hkdf(secret, salt, info, okm):
    """RFC 5869, cases 1 to 3; 32 bytes are the beginning of more."""
    assert HKDF(SHA256(), len(h(okm)), salt=salt, info=info).derive(secret) == h(okm)
    assert masks.derive_key(secret, salt, info) == h(okm)[:32]
    assert masks.derive_key(secret, salt, info + b"2") != h(okm)[:32]


class TestChaCha20Poly1305:
    """RFC 8439."""

    TEXT = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
        b"would be it."
    )
    SEALED = h(
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b29"
        "05d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b"
        "61161ae10b594f09e26a7e902ecbd0600691"
    )
    NONCE, AAD = h("070000004041424344454647"), h("50515253c0c1c2c3c4c5c6c7")

    def test_section_2(self):
        box = ChaCha20Poly1305(bytes(range(0x80, 0xA0)))
        assert box.encrypt(self.NONCE, self.TEXT, self.AAD) == self.SEALED
        assert box.decrypt(self.NONCE, self.SEALED, self.AAD) == self.TEXT

    def test_appendix_a(self):
        sealed = h(
            "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb24c6cfc18755d43eea09ee94e382d26b0bdb7b73c321b"
            "0100d4f03b7f355894cf332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c8559797a06ef4f0ef61c186324e"
            "2b3506383606907b6a7c02b0f9f6157b53c867e4b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee282a1b0a06c523eaf45"
            "34d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a0bb2316053fa76991955ebd63159434ecebb4e466dae5a10"
            "73a6727627097a1049e617d91d361094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c29a6ad5cb4022b02709b"
            "eead9d67890cbb22392336fea1851f38"
        )
        box = ChaCha20Poly1305(h("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0"))
        text = box.decrypt(h("000000000102030405060708"), sealed, h("f33388860000000000004e91"))
        assert text.startswith(b"Internet-Drafts are draft documents valid for a maximum of six months")

    @for_each("position", [0, 50, -1])
    def test_what_was_altered_is_refused(self, position):
        box = ChaCha20Poly1305(bytes(range(0x80, 0xA0)))
        position %= len(self.SEALED)
        for nonce, sealed, aad in (
            (self.NONCE, flipped(self.SEALED, position), self.AAD),
            (flipped(self.NONCE), self.SEALED, self.AAD),
            (self.NONCE, self.SEALED, flipped(self.AAD)),
        ):
            with pytest.raises(InvalidTag):
                box.decrypt(nonce, sealed, aad)


@for_each(
    ("private", "public", "text", "signature"),
    [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595b"
            "be24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb430"
            "2aeeb00d291612bb0c00",
        ),
    ],
)
def test_ed25519(private, public, text, signature):
    """RFC 8032, section 7.1, tests 1 and 2."""
    key = Ed25519PrivateKey.from_private_bytes(h(private))
    assert key.public_key().public_bytes_raw() == h(public)
    assert key.sign(h(text)) == h(signature)
    key.public_key().verify(h(signature), h(text))
    for altered, of in ((flipped(h(signature)), h(text)), (h(signature), h(text) + b"!")):
        with pytest.raises(InvalidSignature):
            key.public_key().verify(altered, of)


KEM, KDF = (0x20).to_bytes(2), (1).to_bytes(2)  # X25519 and HKDF-SHA256, as HPKE numbers them
CHACHA20_POLY1305 = ChaCha20Poly1305, 32, (3).to_bytes(2)  # with the length of its key, and its number
AES_128_GCM = AESGCM, 16, (1).to_bytes(2)


def opened(aead, sealed, private, info, aad=b""):
    """HPKE in base mode, apart from the library's own: RFC 9180, sections 4 and 5."""
    cipher, length, number = aead

    def extract(suite, label, key, salt=b""):
        return hmac.digest(salt, b"HPKE-v1" + suite + label + key, "sha256")

    def expand(suite, label, prk, context, length):
        return HKDFExpand(SHA256(), length, length.to_bytes(2) + b"HPKE-v1" + suite + label + context).derive(prk)

    enclosed, text, suite = sealed[:32], sealed[32:], b"KEM" + KEM
    secret = private.exchange(X25519PublicKey.from_public_bytes(enclosed))
    context = enclosed + private.public_key().public_bytes_raw()
    secret = expand(suite, b"shared_secret", extract(suite, b"eae_prk", secret), context, 32)
    suite = b"HPKE" + KEM + KDF + number
    context = bytes(1) + extract(suite, b"psk_id_hash", b"") + extract(suite, b"info_hash", info)
    secret = extract(suite, b"secret", b"", salt=secret)
    key, nonce = (
        expand(suite, *what) for what in ((b"key", secret, context, length), (b"base_nonce", secret, context, 12))
    )
    return cipher(key).decrypt(nonce, text, aad)


class TestHPKE:
    """RFC 9180, base mode: an enclosed key of 32 bytes, then the text and a seal of 16 bytes."""

    INFO, TEXT = h("4f6465206f6e2061204772656369616e2055726e"), b"Beauty is truth, truth beauty"

    @for_each(
        ("aead", "private", "enclosed", "sealed"),
        [
            (  # A.2.1: the suite that is used
                CHACHA20_POLY1305,
                "8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb",
                "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a",
                "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28",
            ),
            (  # A.1.1
                AES_128_GCM,
                "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
                "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
                "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
            ),
        ],
        ids=["A.2.1", "A.1.1"],
    )
    def test_appendix_a(self, aead, private, enclosed, sealed):
        """Of the independent implementation, as the library's has no associated data."""
        key = X25519PrivateKey.from_private_bytes(h(private))
        assert opened(aead, h(enclosed + sealed), key, self.INFO, b"Count-0") == self.TEXT
        for info, aad in ((self.INFO + b"!", b"Count-0"), (self.INFO, b"Count-1")):
            with pytest.raises(InvalidTag):
                opened(aead, h(enclosed + sealed), key, info, aad)

    def test_the_library_seals_as_the_standard_says(self):
        key = X25519PrivateKey.generate()
        sealed = PAIR_SUITE.encrypt(self.TEXT, key.public_key(), self.INFO)
        assert len(sealed) == 32 + len(self.TEXT) + 16
        assert (
            opened(CHACHA20_POLY1305, sealed, key, self.INFO) == PAIR_SUITE.decrypt(sealed, key, self.INFO) == self.TEXT
        )
        with pytest.raises(InvalidTag):
            opened(CHACHA20_POLY1305, sealed, key, self.INFO + b"!")

    @for_each("position", [0, 32, 76])
    def test_what_was_altered_is_refused(self, position):
        key = X25519PrivateKey.generate()
        sealed = PAIR_SUITE.encrypt(self.TEXT, key.public_key(), self.INFO)
        other = X25519PrivateKey.generate()
        for text, of, info in (
            (flipped(sealed, position), key, self.INFO),
            (sealed, other, self.INFO),
            (sealed, key, b""),
        ):
            with pytest.raises(InvalidTag):
                PAIR_SUITE.decrypt(text, of, info)

    def test_two_seals_of_one_text_have_nothing_in_common(self):
        key = X25519PrivateKey.generate().public_key()
        first, second = (PAIR_SUITE.encrypt(bytes(8), key, self.INFO) for _ in range(2))
        assert first[:32] != second[:32]
        assert first[32:] != second[32:]
