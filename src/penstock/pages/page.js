"use strict";

// The colors: as the system, or as chosen; the choice is remembered where the browser allows it.
const theme = document.getElementById("theme");
const applyTheme = (choice) => {
  if (choice) document.documentElement.dataset.theme = choice;
  else delete document.documentElement.dataset.theme;
  theme.value = choice;
};
const stored = (action) => {
  try {
    return action();
  } catch {
    return null;
  }
};
applyTheme(stored(() => localStorage.getItem("penstock-theme")) || "");
theme.parentElement.hidden = false;
theme.addEventListener("change", () => {
  applyTheme(theme.value);
  stored(() => localStorage.setItem("penstock-theme", theme.value));
});

// A box that scrolls is reached by the keyboard; one that does not is no stop.
const boxes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const box of document.querySelectorAll(".scroll")) boxes.observe(box);

// The diagram: the search hides boxes that do not match, a link shows the columns of its table alone.
for (const explorer of document.querySelectorAll("[data-explorer]")) {
  const search = explorer.querySelector("input");
  const status = explorer.querySelector("[role=status]");
  const items = [...explorer.querySelectorAll("[data-words]")];
  const details = [...explorer.querySelectorAll("section[id]")];
  const links = [...explorer.querySelectorAll(".box > a")];

  let selected = "";

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (item) => words.every((word) => item.dataset.words.includes(word));
    // Parents of a match are kept, so that its line has a beginning.
    for (const item of items) {
      item.hidden = ![item, ...item.querySelectorAll("[data-words]")].some(matches);
    }
    const count = items.filter(matches).length;
    status.textContent = words.length ? `${count} of ${items.length} tables` : `${items.length} tables`;
  };

  const select = () => {
    const chosen = details.find((section) => `#${section.id}` === location.hash);
    // Another anchor of the page keeps the table that is shown; at first it is the first one.
    const shown = chosen || details.find((section) => `#${section.id}` === selected) || details[0];
    selected = shown ? `#${shown.id}` : "";
    for (const section of details) section.hidden = section !== shown;
    for (const link of links) {
      if (shown && link.hash === `#${shown.id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (chosen) {
      const heading = chosen.querySelector("h3");
      heading.focus({ preventScroll: true });
      chosen.scrollIntoView({ block: "nearest" });
    }
  };

  search.closest(".search").hidden = false;
  search.addEventListener("input", filter);
  window.addEventListener("hashchange", select);
  filter();
  select();
}
