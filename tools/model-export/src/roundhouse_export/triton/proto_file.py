"""Message classes from a ``.proto`` file, without protoc.

``model_config.proto`` here is a copy of the one in ``shared-kserve/src/main/proto``; after a change
there it is copied again, and a test fails until it has been.
The classes live in a pool of their own, because tritonclient registers a file of the same name in
the one that all of a process share.
"""

import re
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TOKEN = re.compile(r'//[^\n]*|\s+|(?P<token>"[^"]*"|[\w.]+|[{}<>=;,])')
_SCALARS = {
    name: getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in ("bool", "bytes", "double", "float", "int32", "int64", "string", "uint32", "uint64")
}
_FIELD = descriptor_pb2.FieldDescriptorProto


def message_class(proto: str, file_name: str, name: str) -> Any:
    """Returns the class of a message, by its full name, of the text of a file."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file_descriptor(proto, file_name))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def file_descriptor(proto: str, file_name: str) -> Any:
    """Reads proto3: messages, enums, fields, maps and oneofs. ValueError for anything else."""
    return _Reader(proto).read(file_name)


class _Reader:
    def __init__(self, proto: str) -> None:
        self._tokens = _tokens(proto)
        self._at = 0

    def read(self, file_name: str) -> Any:
        file = descriptor_pb2.FileDescriptorProto(name=file_name)
        while self._at < len(self._tokens):
            match self._next():
                case "syntax":
                    self._expect("=")
                    file.syntax = self._next().strip('"')
                    self._expect(";")
                case "package":
                    file.package = self._next()
                    self._expect(";")
                case "option":  # of the code that protoc would write
                    while self._next() != ";":
                        pass
                case "message":
                    self._message(file.message_type.add())
                case "enum":
                    self._enum(file.enum_type.add())
                case other:
                    raise ValueError(f"{file_name}: '{other}' is not read here")
        for message in file.message_type:
            _resolve(message, [f".{file.package}"], _types(file))
        return file

    def _message(self, message: Any) -> None:
        message.name = self._next()
        self._expect("{")
        while (token := self._next()) != "}":
            match token:
                case "message":
                    self._message(message.nested_type.add())
                case "enum":
                    self._enum(message.enum_type.add())
                case "oneof":
                    self._one_of(message)
                case "map":
                    self._map(message)
                case "repeated":
                    self._field(message, self._next()).label = _FIELD.LABEL_REPEATED
                case _:
                    self._field(message, token)

    def _one_of(self, message: Any) -> None:
        message.oneof_decl.add(name=self._next())
        self._expect("{")
        while (token := self._next()) != "}":
            self._field(message, token).oneof_index = len(message.oneof_decl) - 1

    def _map(self, message: Any) -> None:
        """A map is a repeated message of keys and values, as protoc has it."""
        self._expect("<")
        key = self._next()
        self._expect(",")
        value = self._next()
        self._expect(">")
        field = self._field(message, "")
        field.label = _FIELD.LABEL_REPEATED
        words = field.name.split("_")
        entry = message.nested_type.add(name="".join(map(str.title, words)) + "Entry")
        entry.options.map_entry = True
        for number, (name, kind) in enumerate((("key", key), ("value", value)), 1):
            part = entry.field.add(name=name, number=number, label=_FIELD.LABEL_OPTIONAL)
            _set_type(part, kind)
        field.type_name = entry.name

    def _field(self, message: Any, kind: str) -> Any:
        field = message.field.add(name=self._next(), label=_FIELD.LABEL_OPTIONAL)
        self._expect("=")
        field.number = int(self._next())
        self._expect(";")
        _set_type(field, kind)
        return field

    def _enum(self, enum: Any) -> None:
        enum.name = self._next()
        self._expect("{")
        while (token := self._next()) != "}":
            self._expect("=")
            enum.value.add(name=token, number=int(self._next()))
            self._expect(";")

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, wanted: str) -> None:
        found = self._next()
        if found != wanted:
            raise ValueError(f"'{found}' where '{wanted}' was expected")


def _tokens(proto: str) -> list[str]:
    tokens = []
    position = 0
    while position < len(proto):
        match = _TOKEN.match(proto, position)
        if match is None:
            raise ValueError(f"'{proto[position]}' is not read here")
        if match["token"]:
            tokens.append(match["token"])
        position = match.end()
    return tokens


def _set_type(field: Any, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type_name = kind  # a message or an enum: known when all have been read


def _types(file: Any) -> dict[str, int]:
    """Full names of all messages and enums, and which of the two they are."""
    found: dict[str, int] = {}

    def add(scope: str, messages: Any, enums: Any) -> None:
        for enum in enums:
            found[f"{scope}.{enum.name}"] = _FIELD.TYPE_ENUM
        for message in messages:
            found[f"{scope}.{message.name}"] = _FIELD.TYPE_MESSAGE
            add(f"{scope}.{message.name}", message.nested_type, message.enum_type)

    add(f".{file.package}", file.message_type, file.enum_type)
    return found


def _resolve(message: Any, scopes: list[str], types: dict[str, int]) -> None:
    """Gives names of types in full: the innermost scope that knows one wins."""
    inner = [*scopes, f"{scopes[-1]}.{message.name}"]
    for field in message.field:
        if field.type_name:
            names = [f"{scope}.{field.type_name}" for scope in reversed(inner)]
            full = next((name for name in names if name in types), None)
            if full is None:
                raise ValueError(f"{inner[-1]}.{field.name}: no type '{field.type_name}'")
            field.type_name = full
            field.type = types[full]
    for nested in message.nested_type:
        _resolve(nested, inner, types)
