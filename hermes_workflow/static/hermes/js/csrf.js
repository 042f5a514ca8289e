// Every htmx request carries the CSRF token of the page; no inline script or attribute is needed.
document.addEventListener("htmx:configRequest", (event) => {
  const token = document.querySelector('meta[name="csrf-token"]')?.content;
  if (token && event.detail.verb !== "get") event.detail.headers["X-CSRFToken"] = token;
});
