"""A person as the service is asked for an arm: the unit, its token, and what the application says of it."""

from typing import Any

from maskedbandit.errors import PersonalValue
from maskedbandit.person_attributes import PersonAttributes, check_attributes


def write_person(unit: str, token: str | None, attributes: PersonAttributes | None) -> dict[str, Any]:
    """The body of the request, or raise `PersonalValue`.

    >>> write_person("ann", None, {"age": 18})
    {'unit': 'ann', 'attributes': {'age': 18}}
    """
    if not isinstance(unit, str) or not 1 <= len(unit) <= 256 or not unit.isprintable():
        raise PersonalValue("unit", "a str of 1 to 256 printable characters")
    said = check_attributes(attributes)
    body: dict[str, Any] = {"unit": unit} if token is None else {"unit": unit, "token": token}
    return body | {"attributes": said} if said else body
