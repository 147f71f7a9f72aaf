"""Static files under names that say their content, and compressed once, when they are collected: browsers keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Name what a module imports by its content as well: an old module never gets a new one."""

    support_js_module_import_aggregation = True
