"""A vector of numbers as one number of many digits, so that a protocol for single values carries it.

Number i of a device's vector, in steps and with the device's noise, is v_i; m is the modulus of one number. The device
sends

    v_0 + v_1 m + ... + v_(s-1) m^(s-1)      modulo m^s,

and the protocol adds such values modulo m^s. All that it opens is the same expression in the sums V_i of all devices,
so it is a function of the noisy sums V_0, ..., V_(s-1), each of which is private by itself: nothing is lost by packing.
From below, V_0 is the one number with its residue modulo m between highest - m + 1 and the highest sum that the margin
for noise allows; then V_1 follows from (total - V_0) / m, and so on. If noise exceeds the margin, which has the chance
`failure` of the channel, that sum is wrong by m steps, as for a single reward, and the next one by one step.

Devices must not send the residues of their numbers as digits: a sum of residues tells how often they wrapped around.
"""

from collections.abc import Sequence

from maskedbandit.backends.backend import Aggregate


def pack_vector(numbers: Sequence[int], modulus: int) -> int:
    """The numbers, which may be negative, as one residue modulo `modulus` to the power of how many they are.

    >>> pack_vector([3, -1, 2], 10)
    193
    """
    packed = 0
    for number in reversed(numbers):
        packed = packed * modulus + number
    return packed % modulus ** len(numbers)


def unpack_residues(total: int, size: int, modulus: int, highest: int) -> list[int]:
    """The residue of each of so many sums, none of which is above `highest`, nor `modulus` or more below it.

    >>> unpack_residues(193, 3, 10, highest=6)
    [3, 9, 2]
    """
    residues = []
    for _ in range(size):
        total, residue = divmod(total, modulus)
        residues.append(residue)
        total += residue > highest  # it stands for a negative sum, which borrowed from the next digit
    return residues


def unpack_sum(found: Aggregate, size: int, modulus: int, highest: int) -> Aggregate:
    """The result of a protocol that added packed vectors, with the residues of all sums as its total."""
    return found._replace(total=unpack_residues(found.total, size, modulus, highest))
