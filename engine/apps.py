from django.apps import AppConfig


class EngineConfig(AppConfig):
    name = "engine"
    verbose_name = "Workflows"

    def ready(self) -> None:
        """Register what others name: checks, functions, and the dispatcher, whose import must not fail after a commit."""
        from engine import checks  # noqa: F401, PLC0415
        from engine.conf import Conf, conf  # noqa: PLC0415
        from engine.db.transactions import dispatcher  # noqa: PLC0415
        from engine.extensions.functions import load_functions  # noqa: PLC0415
        from engine.extensions.step_kinds import load_step_kinds  # noqa: PLC0415

        load_functions()
        load_step_kinds()
        if not Conf.dispatcher.is_wrong:
            dispatcher(conf.dispatcher)
