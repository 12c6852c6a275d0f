// What is too wide for its place is scrolled; without a mouse that takes a place in the order of the tab key.
function letKeysScroll() {
  for (const box of document.querySelectorAll("pre, .table-wrapper")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("DOMContentLoaded", letKeysScroll);
addEventListener("resize", letKeysScroll);
