"""The description of a small API with a little of everything, for `test_additive` to change."""

from typing import Any

OLD: dict[str, Any] = {
    "security": [{"key": []}],
    "paths": {
        "/v1/notes/{note_id}": {
            "get": {
                "operationId": "getNote",
                "parameters": [
                    {"name": "note_id", "in": "path", "required": True, "schema": {}},
                    {
                        "name": "limit",
                        "in": "query",
                        "schema": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20},
                    },
                    {
                        "name": "status",
                        "in": "query",
                        "schema": {"type": "string", "enum": ["open", "done"]},
                    },
                    {"name": "If-None-Match", "in": "header", "schema": {"type": "string"}},
                ],
                "responses": {
                    "200": {
                        "description": "The note.",
                        "headers": {"ETag": {"$ref": "#/components/headers/ETag"}},
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Note"}}
                        },
                    },
                    "304": {"description": "Nothing newer."},
                    "404": {"$ref": "#/components/responses/not_found"},
                    "409": {
                        "description": "",
                        "content": {
                            "application/json": {
                                "schema": {"$ref": "#/components/schemas/Error"},
                                "examples": {"locked": {}},
                            }
                        },
                    },
                },
            },
            "post": {
                "operationId": "changeNote",
                "requestBody": {
                    "required": False,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/NoteIn"}}
                    },
                },
                "responses": {"200": {"description": "Changed."}},
            },
        },
        "/v1/me": {"get": {"operationId": "getMe", "responses": {"200": {"description": ""}}}},
    },
    "webhooks": {
        "note.done": {
            "post": {
                "parameters": [{"name": "webhook-id", "in": "header", "schema": {}}],
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Done"}}
                    }
                },
            }
        }
    },
    "components": {
        "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        "headers": {"ETag": {"required": True, "schema": {"type": "string"}}},
        "responses": {
            "not_found": {
                "description": "",
                "content": {
                    "application/json": {
                        "schema": {"$ref": "#/components/schemas/Error"},
                        "examples": {"not_found": {}},
                    }
                },
            }
        },
        "schemas": {
            "Done": {
                "type": "object",
                "required": ["data"],
                "properties": {"data": {"$ref": "#/components/schemas/Note"}},
            },
            "Error": {"type": "object", "properties": {"error": {"type": "string"}}},
            "Note": {
                "type": "object",
                "required": ["id", "object", "text", "state", "size", "children"],
                "properties": {
                    "id": {"type": "string"},
                    "object": {"type": "string", "const": "note"},
                    "text": {"type": "string", "maxLength": 100},
                    "state": {"type": "string", "enum": ["open", "done"]},
                    "size": {"type": "integer"},
                    "label": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                    "at": {"type": "string", "format": "date-time"},
                    "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                    "children": {"type": "array", "items": {"$ref": "#/components/schemas/Note"}},
                },
            },
            "NoteIn": {
                "type": "object",
                "required": ["text"],
                "properties": {
                    "text": {"type": "string", "minLength": 1, "maxLength": 100},
                    "label": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                    "size": {"type": "number"},
                    "any": {},
                    "state": {"type": "string", "enum": ["open", "done"]},
                    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
                },
            },
        },
    },
}
NOTE = OLD["paths"]["/v1/notes/{note_id}"]
