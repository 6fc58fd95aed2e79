// What the pages do beyond being read: a theme that is remembered, and a filter over the matrix.
// Everything is readable without this file. Text is only ever read and compared, never made into markup.
"use strict";

(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  const remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem("theme", theme); } catch { /* it holds for this page */ } };
  const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");

  const kept = remembered();
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;

  function toggle(button) {
    const told = () => {
      button.textContent = theme() === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `${button.textContent} theme`);
    };
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = theme() === "dark" ? "light" : "dark";
      remember(root.dataset.theme);
      told();
    });
    system.addEventListener("change", told);
    told();
  }

  const FIELDS = ["text", "document", "level", "verdict", "build", "differ"];

  // The first three cells of a row are the rule, its level and its detection.
  const FIRST = 3;

  // Builds differ within a role: a client that breaks a rule says nothing about a server that keeps it.
  function differing(cells, roles) {
    const seen = new Set();
    const told = new Set();
    cells.forEach((cell, place) => {
      if (cell.className !== "none") {
        seen.add(roles[place]);
        told.add(`${roles[place]} ${cell.classList[0]}`);
      }
    });
    return told.size > seen.size;
  }

  function entry(row, roles) {
    const cells = [...row.cells].slice(FIRST);
    return {
      row,
      document: row.parentElement.dataset.document,
      text: row.cells[0].textContent.toLowerCase(),
      level: row.cells[1].textContent.toLowerCase(),
      verdicts: cells.map((cell) => cell.className.split(" ")),
      differ: differing(cells, roles),
    };
  }

  function wanted(form, builds) {
    const value = (name) => (form.elements[name] ? form.elements[name].value : "");
    const words = value("text").toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = value("verdict").split(" ").filter(Boolean);
    const build = builds.indexOf(value("build"));
    const differ = form.elements.differ ? form.elements.differ.checked : false;
    return (each) => {
      const cells = build < 0 ? each.verdicts : [each.verdicts[build]];
      return words.every((word) => each.text.includes(word))
        && (!value("document") || each.document === value("document"))
        && (!value("level") || each.level === value("level"))
        && (!verdicts.length || cells.some((names) => names.some((name) => verdicts.includes(name))))
        && (!differ || each.differ);
    };
  }

  function filter(form, table) {
    const heads = [...table.tHead.rows[0].cells].slice(FIRST);
    const builds = heads.map((head) => head.dataset.build);
    const roles = heads.map((head) => head.dataset.role);
    const bodies = [...table.tBodies];
    let entries = null;

    function apply() {
      entries ??= [...table.querySelectorAll("tr.rule")].map((row) => entry(row, roles));
      const fits = wanted(form, builds);
      let shown = 0;
      for (const each of entries) {
        const fit = fits(each);
        shown += fit;
        if (each.row.hidden === fit) each.row.hidden = !fit;
      }
      headings(bodies);
      form.elements.shown.value = shown === entries.length ? `${shown} rules` : `${shown} of ${entries.length} rules`;
      document.getElementById("nothing").hidden = shown > 0;
    }

    function address() {
      const told = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
      history.replaceState(null, "", told.size ? `#${told}` : location.pathname);
    }

    function restore() {
      const told = new URLSearchParams(location.hash.slice(1));
      let any = false;
      for (const [name, value] of told) {
        const field = form.elements[name];
        if (!FIELDS.includes(name) || !field) continue;
        if (field.type === "checkbox") field.checked = value === field.value; else field.value = value;
        any = true;
      }
      if (any) apply();
    }

    form.hidden = false;
    form.addEventListener("input", () => { apply(); address(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.elements.clear.addEventListener("click", () => { form.reset(); apply(); address(); });
    table.classList.add("clickable");
    table.addEventListener("click", (event) => {
      const cell = event.target.closest("tr.rule > td");
      if (!cell || cell.cellIndex < FIRST || getSelection().type === "Range") return;
      const page = cell.parentElement.cells[0].querySelector("a").getAttribute("href");
      location.href = `${page}#${builds[cell.cellIndex - FIRST]}`;
    });
    restore();
  }

  // A heading stays while a rule below it does: its own section's, or for a class one of a later section.
  function headings(bodies) {
    let below = false;
    for (const body of bodies.toReversed()) {
      const some = body.querySelector("tr.rule:not([hidden])") !== null;
      below ||= some;
      const section = body.querySelector("tr.section");
      const group = body.querySelector("tr.group");
      if (section) section.hidden = !some;
      if (group) group.hidden = !below;
      body.hidden = body.classList.contains("heading") ? false : !some && !(group && below);
      if (group) below = false;
    }
  }

  // The theme was set before the body is painted; the rest waits until it is there.
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const form = document.getElementById("filter");
    const table = document.getElementById("matrix");
    if (button) toggle(button);
    if (form && table) filter(form, table);
  });
})();
