"""Call a function that the host project registered."""

from engine.extensions.functions import BusinessError, registered_functions, takes_secrets
from engine.transports.outcomes import Call, CallResult, Failed, Succeeded


def call_function(call: Call) -> CallResult:
    """Call the named function with the step's args; BusinessError is its way to say no."""
    name = call.request.get("function")
    function = registered_functions().get(str(name))
    if function is None:
        return Failed("definition", "unknown_function", f"No function is registered under {name}.")
    if call.secrets and not takes_secrets(str(name)):
        return Failed("authorization", "secrets_refused", f"The function {name} is not registered to take secrets.")
    try:
        return Succeeded(function(**dict(call.request.get("args") or {})))
    except BusinessError as error:
        return Failed("business", error.code, str(error))
