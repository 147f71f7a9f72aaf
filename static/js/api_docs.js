// Read the OpenAPI document aloud, and let people try it with their session or a token.
const place = document.getElementById("api-docs");

const cookie = (name) => document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);

window.SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  validatorUrl: null,
  requestInterceptor: (request) => {
    const secret = cookie("csrftoken");
    if (secret && new URL(request.url, location.href).origin === location.origin) {
      request.headers["X-CSRFToken"] = secret;
    }
    return request;
  },
});
