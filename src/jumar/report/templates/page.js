(function () {
  "use strict";
  var root = document.documentElement, themes = ["", "light", "dark"], chosen = "";
  root.classList.add("has-js");
  var all = function (query, from) { return Array.prototype.slice.call((from || document).querySelectorAll(query)); };
  var byId = function (id) { return document.getElementById(id); };
  try { chosen = localStorage.jumarTheme || ""; } catch (e) { /* not kept */ }
  var wear = function () { if (chosen) root.dataset.theme = chosen; else delete root.dataset.theme; };
  wear();

  function theme() {
    var button = byId("theme"), words = button.dataset.words.split("|");
    var say = function () { button.textContent = words[themes.indexOf(chosen)] || words[0]; };
    button.onclick = function () {
      chosen = themes[(themes.indexOf(chosen) + 1) % themes.length];
      try { localStorage.jumarTheme = chosen; } catch (e) { /* not kept */ }
      wear(); say();
    };
    say();
  }

  function key(cell) {
    var text = cell.dataset.key === undefined ? cell.textContent.trim() : cell.dataset.key;
    var number = parseFloat(text.replace(/,/g, ""));
    return /^[-+]?[\d.,]+(e[-+]?\d+)?(\s|$)/i.test(text) && !isNaN(number) ? number : text === "inf" ? Infinity : text.toLowerCase();
  }

  function order(a, b) {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  }

  function sorting(table) {
    var heads = all("thead th", table), body = table.tBodies[0];
    heads.forEach(function (head, column) {
      if (!head.textContent.trim()) return;
      var button = document.createElement("button");
      button.type = "button";
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.onclick = function () {
        var first = head.classList.contains("n") ? "descending" : "ascending";
        var now = head.getAttribute("aria-sort");
        var next = !now ? first : now === "ascending" ? "descending" : "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", next);
        Array.prototype.slice.call(body.rows)
          .map(function (row, place) { return { row: row, place: place, key: key(row.cells[column]) }; })
          .sort(function (a, b) { return (next === "ascending" ? 1 : -1) * order(a.key, b.key) || a.place - b.place; })
          .forEach(function (entry) { body.appendChild(entry.row); });
      };
    });
  }

  function finding(input) {
    var form = input.form, table = form.nextElementSibling.querySelector("table"), told = form.querySelector("output");
    form.onsubmit = function () { return false; };
    input.oninput = function () {
      var word = input.value.trim().toLowerCase(), rows = all("tbody tr", table), left = 0;
      rows.forEach(function (row) {
        row.hidden = !!word && row.textContent.toLowerCase().indexOf(word) < 0;
        if (!row.hidden) left += 1;
      });
      told.textContent = word ? left + " / " + rows.length : "";
    };
  }

  function files() {
    var text = byId("text"), rule = byId("rule"), shown = byId("shown"), fold = byId("fold");
    if (!text) return;
    text.form.onsubmit = function () { return false; };
    var boxes = all("input[name=state]"), rows = {};
    all("tr[data-file]").forEach(function (row) { rows[row.dataset.file] = row; });
    var entries = all("details.file[id]").map(function (node) {
      var row = rows[node.id];
      delete rows[node.id];
      return {
        node: node, row: row, path: node.querySelector(".path").textContent.toLowerCase(), text: null,
        findings: all(".finding", node).map(function (item) {
          return { node: item, state: item.dataset.state, rule: item.dataset.rule, text: null };
        })
      };
    });
    var lower = function (entry) {
      if (entry.text === null) entry.text = entry.node.textContent.toLowerCase();
      return entry.text;
    };
    var apply = function () {
      var states = boxes.filter(function (box) { return box.checked; }).map(function (box) { return box.value; });
      var word = text.value.trim().toLowerCase(), narrow = states.length || rule.value, sites = 0, count = 0;
      entries.forEach(function (file) {
        var inPath = !word || file.path.indexOf(word) >= 0, any = false;
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
      Object.keys(rows).forEach(function (name) { rows[name].hidden = !!(narrow || word); });
      var words = shown.dataset.words.split("|");
      shown.textContent = narrow || word ? words[0] + ": " + sites + ", " + words[1] + ": " + count : "";
    };
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
    var isOpen = function () { return entries.some(function (file) { return file.node.open; }); };
    var label = function () { fold.textContent = fold.dataset.words.split("|")[isOpen() ? 0 : 1]; };
    fold.onclick = function () {
      var open = !isOpen();
      entries.forEach(function (file) { file.node.open = open; });
      label();
    };
    label();
    all("a.pick").forEach(function (link) { link.onclick = function () { rule.value = link.dataset.rule; apply(); }; });
    all(".index a").forEach(function (link) { link.onclick = function () { byId(link.hash.slice(1)).open = true; }; });
    apply();
  }

  addEventListener("DOMContentLoaded", function () {
    theme();
    all("table.list").forEach(sorting);
    all("input.find").forEach(finding);
    files();
  });
  addEventListener("beforeprint", function () { all("details").forEach(function (node) { node.open = true; }); });
  addEventListener("keydown", function (event) {
    var first = document.querySelector("input[type=search]");
    if (event.key === "/" && first && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      first.focus();
    }
  });
})();
