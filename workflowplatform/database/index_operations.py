"""Change indexes in migrations without touching what they belong to."""

from typing import Any

from django.db import migrations


class DropForeignKeyIndex(migrations.AlterField):
    """Drop the index that Django made for a foreign key.

    Altered by Django itself, the key would be dropped too, made anew and checked over the whole table.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        table, column = self._place(app_label, to_state)
        schema_editor.execute(f'DROP INDEX IF EXISTS "{schema_editor._create_index_name(table, [column])}"')

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        table, column = self._place(app_label, to_state)
        name = schema_editor._create_index_name(table, [column])
        schema_editor.execute(f'CREATE INDEX "{name}" ON "{table}" ("{column}")')

    def _place(self, app_label: str, state: Any) -> tuple[str, str]:
        model = state.apps.get_model(app_label, self.model_name)
        return model._meta.db_table, model._meta.get_field(self.name).column
