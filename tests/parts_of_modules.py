"""For mypy: a part of an nn.Module is what its author knows, and not "Tensor or Module"."""

from mypy.plugin import AttributeContext, Plugin
from mypy.types import AnyType, Type, TypeOfAny, UnionType, get_proper_type

GETATTR = "torch.nn.modules.module.Module."


def _any_for_either(context: AttributeContext) -> Type:
    found = get_proper_type(context.default_attr_type)
    return AnyType(TypeOfAny.explicit) if isinstance(found, UnionType) else found


class _Parts(Plugin):
    def get_attribute_hook(self, fullname):
        return _any_for_either if fullname.startswith(GETATTR) else None


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for."""
    return _Parts
