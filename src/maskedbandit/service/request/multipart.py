"""Forms with a file, as browsers send them (RFC 7578)."""

import re


def read_multipart(content_type: str, body: bytes) -> dict[str, str]:
    """The texts of such a form by the names of its fields; whatever is not of this kind has none.

    >>> body = b'--x\\r\\nContent-Disposition: form-data; name="file"; filename="a"\\r\\n\\r\\none\\r\\ntwo\\r\\n--x--'
    >>> read_multipart("multipart/form-data; boundary=x", body)
    {'file': 'one\\r\\ntwo'}
    """
    boundary = re.search(r'boundary="?([!-~]{1,70}?)"?(;|$)', content_type)
    found = dict[str, str]()
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary[1].encode())[1:-1] if boundary else ():
        head, _, text = part.partition(b"\r\n\r\n")
        if name := re.search(rb'[ ;]name="([^"]*)"', head):
            found[name[1].decode(errors="replace")] = text.decode(errors="replace")
    return found
