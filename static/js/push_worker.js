/* Show push messages while no page is open. A press opens the page that a message names, only on this site. */
self.addEventListener("push", (event) => {
  const { title, body, url, tag } = event.data.json();
  event.waitUntil(self.registration.showNotification(title, { body, tag, data: { url }, icon: "/static/img/mail_logo.png" }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const address = new URL(event.notification.data.url, self.location.origin);
  if (address.origin !== self.location.origin) return;
  event.waitUntil(
    self.clients.matchAll({ type: "window" }).then((windows) => {
      const open = windows.find((one) => one.url === address.href);
      return open ? open.focus() : self.clients.openWindow(address.href);
    }),
  );
});
