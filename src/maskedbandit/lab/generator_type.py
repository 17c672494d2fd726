"""How compiled code takes a generator of the lab.

Numba asks a generator in every call where its state and its functions are, which takes longer than a short run does.
A generator of the lab says so once (`Generator` in streams.py). In all else the type is Numba's own.
"""

from typing import Any

from numba.core import cgutils, types
from numba.extending import NativeValue, register_model, typeof_impl, unbox
from numba.np.random.generator_core import NumPyRandomGeneratorTypeModel

# Numba's functions have no types of their own
unboxed_by: Any = unbox
proxy: Any = cgutils.create_struct_proxy
element: Any = cgutils.gep
native: Any = NativeValue

ADDRESSES = ("state_address", "state", "fnptr_next_double", "fnptr_next_uint64", "fnptr_next_uint32")


class GeneratorType(types.NumPyRandomGeneratorType):
    """The type of the lab's generators in compiled code."""

    def __init__(self) -> None:
        super().__init__("generator of the lab")
        self.name = "generator of the lab"


def hold_generator(kind: GeneratorType, generator: Any, c: Any) -> Any:
    """What compiled code holds of a generator: its addresses, and a counted reference to it."""
    builder, number = c.builder, c.context.get_value_type(types.uintp)
    where = c.pyapi.object_getattr_string(generator, "addresses_at")
    addresses = builder.inttoptr(c.unbox(types.uintp, where).value, number.as_pointer())
    c.pyapi.decref(where)
    bits = proxy(types.npy_bitgen)(c.context, builder)
    for i, name in enumerate(ADDRESSES):
        setattr(bits, name, builder.load(element(builder, addresses, i)))
    bits.parent = generator
    found = proxy(kind)(c.context, builder)
    found.bit_generator, found.parent = bits._getvalue(), generator
    found.meminfo = c.pyapi.nrt_meminfo_new_from_pyobject(cgutils.voidptr_t(None), generator)
    return native(found._getvalue())


register_model(GeneratorType)(NumPyRandomGeneratorTypeModel)
unboxed_by(GeneratorType)(hold_generator)


def type_of(kind: type) -> GeneratorType:
    """The type of the generators of this class, which Numba knows from now on."""
    found = GeneratorType()
    typeof_impl.register(kind)(lambda generator, context: found)
    return found
