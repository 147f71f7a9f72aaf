from django.apps import AppConfig


class EngineConfig(AppConfig):
    name = "engine"
    verbose_name = "Workflows"

    def ready(self) -> None:
        from engine import checks  # noqa: F401, PLC0415
        from engine.functions import load_functions  # noqa: PLC0415

        load_functions()
