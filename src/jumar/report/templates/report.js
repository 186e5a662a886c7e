(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("has-js");
  var all = function (query, from) { return Array.prototype.slice.call((from || document).querySelectorAll(query)); };
  var plural = function (number, noun) { return number + " " + noun + (number === 1 ? "" : "s"); };
  var byId = function (id) { return document.getElementById(id); };

  try { if (localStorage.jumarTheme) root.dataset.theme = localStorage.jumarTheme; } catch (e) { /* not kept */ }
  byId("theme").onclick = function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.jumarTheme = root.dataset.theme; } catch (e) { /* not kept */ }
  };

  var text = byId("text"), rule = byId("rule"), shown = byId("shown"), fold = byId("fold");
  if (!text) return;
  var boxes = all("input[name=state]");
  var rows = {};
  all("tr[data-file]").forEach(function (row) { rows[row.dataset.file] = row; });
  var files = all("details.file").map(function (node) {
    var row = rows[node.id];
    delete rows[node.id];
    return {
      node: node,
      row: row,
      path: node.querySelector(".path").textContent.toLowerCase(),
      text: null,
      findings: all(".finding", node).map(function (item) {
        return { node: item, state: item.dataset.state, rule: item.dataset.rule, text: null };
      })
    };
  });
  var lower = function (entry) {
    if (entry.text === null) entry.text = entry.node.textContent.toLowerCase();
    return entry.text;
  };

  function apply() {
    var states = boxes.filter(function (box) { return box.checked; }).map(function (box) { return box.value; });
    var word = text.value.trim().toLowerCase();
    var narrow = states.length || rule.value;
    var sites = 0, count = 0;
    files.forEach(function (file) {
      var inPath = !word || file.path.indexOf(word) >= 0;
      var any = false;
      file.findings.forEach(function (item) {
        var keep = (!states.length || states.indexOf(item.state) >= 0) && (!rule.value || rule.value === item.rule) &&
          (inPath || lower(item).indexOf(word) >= 0);
        item.node.hidden = !keep;
        if (keep) { any = true; sites += 1; }
      });
      var keepFile = any || (!narrow && (inPath || lower(file).indexOf(word) >= 0));
      file.node.hidden = !keepFile;
      if (file.row) file.row.hidden = !keepFile;
      if (keepFile) count += 1;
    });
    Object.keys(rows).forEach(function (key) { rows[key].hidden = !!(narrow || word); });
    shown.textContent = narrow || word ? plural(sites, "finding") + " in " + plural(count, "file") : "";
  }

  var timer = 0;
  text.oninput = function () { clearTimeout(timer); timer = setTimeout(apply, 120); };
  rule.onchange = apply;
  boxes.forEach(function (box) {
    box.onchange = function () {
      boxes.forEach(function (other) { if (other.value === box.value) other.checked = box.checked; });
      apply();
    };
  });
  byId("clear").onclick = function () {
    text.value = ""; rule.value = "";
    boxes.forEach(function (box) { box.checked = false; });
    apply();
  };
  var setOpen = function (open) { files.forEach(function (file) { file.node.open = open; }); };
  var label = function () {
    fold.textContent = files.some(function (file) { return file.node.open; }) ? "Fold all" : "Unfold all";
  };
  fold.onclick = function () { setOpen(fold.textContent === "Unfold all"); label(); };
  label();
  all("a.pick").forEach(function (link) {
    link.onclick = function () { rule.value = link.dataset.rule; apply(); };
  });
  all(".index a").forEach(function (link) {
    link.onclick = function () { byId(link.hash.slice(1)).open = true; };
  });
  addEventListener("beforeprint", function () { setOpen(true); });
  addEventListener("keydown", function (event) {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      text.focus();
    }
  });
  apply();
})();
