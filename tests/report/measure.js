// Runs beside the pages in frames of a fixed width and says what a reader would stumble over.
(function () {
  "use strict";
  var SMALLEST = 12.5;
  var visible = function (node) {
    var box = node.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(node).visibility !== "hidden";
  };
  var all = function (doc, query) { return Array.prototype.slice.call(doc.querySelectorAll(query)).filter(visible); };
  var name = function (node) {
    return node.tagName.toLowerCase() + (node.className && node.className.baseVal === undefined ? "." + node.className : "") +
      ": " + node.textContent.trim().slice(0, 40);
  };
  var scrolls = function (node, doc) {
    for (var up = node; up && up !== doc.body; up = up.parentElement) {
      if (/auto|scroll|clip|hidden/.test(getComputedStyle(up).overflowX)) return true;
    }
    return false;
  };
  var ownText = function (node) {
    return Array.prototype.some.call(node.childNodes, function (one) { return one.nodeType === 3 && one.data.trim(); });
  };
  var parse = function (text) {
    var srgb = text.match(/color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)(?: \/ ([\d.]+))?/);
    if (srgb) return [srgb[1] * 255, srgb[2] * 255, srgb[3] * 255, srgb[4] === undefined ? 1 : +srgb[4]];
    var found = (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    return found.length === 3 ? found.concat(1) : found;
  };
  var over = function (top, below) { return [0, 1, 2].map(function (at) { return top[at] * top[3] + below[at] * (1 - top[3]); }).concat(1); };
  var ground = function (node) {
    var layers = [];
    for (var up = node; up; up = up.parentElement) layers.push(parse(getComputedStyle(up).backgroundColor));
    return layers.reverse().reduce(function (below, top) { return over(top, below); }, [255, 255, 255, 1]);
  };
  var light = function (colour) {
    var parts = colour.slice(0, 3).map(function (part) { part /= 255; return part <= 0.04045 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4); });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  var contrast = function (node) {
    var back = ground(node), front = over(parse(getComputedStyle(node).color), back);
    var both = [light(front), light(back)].sort(function (a, b) { return b - a; });
    return (both[0] + 0.05) / (both[1] + 0.05);
  };
  var meet = function (a, b) { return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1; };

  // Plain words that the page cuts in two; code and paths may break anywhere.
  var broken = function (doc) {
    var found = [], walk = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT), node, word;
    while ((node = walk.nextNode())) {
      var up = node.parentElement;
      if (up.closest("code, pre, script, .path, .facts, .index, small") || !visible(up)) continue;
      var words = /(^|\s)([A-Za-z]{3,16})(?=\s|$)/g;
      while ((word = words.exec(node.data))) {
        var range = doc.createRange(), start = word.index + word[1].length;
        range.setStart(node, start);
        range.setEnd(node, start + word[2].length);
        if (range.getClientRects().length > 1) found.push(word[2]);
      }
    }
    return found;
  };

  window.measure = function (frame) {
    var doc = frame.contentDocument, width = doc.documentElement.clientWidth, texts = all(doc, "body *").filter(ownText);
    var wide = all(doc, "body *").filter(function (node) { return node.getBoundingClientRect().right > width + 1 && !scrolls(node, doc); });
    var overlaps = [];
    all(doc, ".chart, .lane").forEach(function (chart) {
      var labels = all(chart, "span, .dot, .up, .across").filter(ownText).map(function (node) { return { node: node, box: node.getBoundingClientRect() }; });
      labels.forEach(function (one, at) {
        labels.slice(at + 1).forEach(function (other) { if (meet(one.box, other.box)) overlaps.push(name(one.node) + " | " + name(other.node)); });
      });
    });
    return {
      overflow: Math.max(0, doc.documentElement.scrollWidth - width),
      wide: wide.slice(0, 5).map(name),
      small: texts.filter(function (node) { return parseFloat(getComputedStyle(node).fontSize) < SMALLEST; }).slice(0, 5).map(name),
      faint: texts.filter(function (node) { return contrast(node) < 4.5; }).slice(0, 5).map(function (node) { return contrast(node).toFixed(2) + " " + name(node); }),
      overlaps: overlaps.slice(0, 5),
      broken: broken(doc).slice(0, 5),
      charts: all(doc, "figure").length,
      tables: all(doc, "table.list").length,
      sorted: all(doc, "table.list thead button").length,
      headings: all(doc, "h1, h2").map(function (node) { return node.textContent.trim().replace(/\s+/g, " "); }),
      theme: (doc.getElementById("theme") || {}).textContent
    };
  };

  // The things that a reader does: sort by a head, filter, switch the theme.
  window.use = function (frame) {
    var doc = frame.contentDocument, found = {};
    var table = doc.querySelector("table.list:not(.index)");
    if (table) {
      var heads = table.querySelectorAll("thead th"), last = heads[heads.length - 1], button = last.querySelector("button");
      var column = Array.prototype.slice.call(table.tBodies[0].rows);
      button.focus();
      found.focus = doc.activeElement === button;
      button.click();
      found.sort = last.getAttribute("aria-sort");
      button.click();
      found.again = last.getAttribute("aria-sort");
      found.kept = table.tBodies[0].rows.length === column.length;
    }
    var input = doc.querySelector("input.find");
    if (input) {
      input.value = "no such words anywhere";
      input.dispatchEvent(new Event("input"));
      found.hidden = all(input.form.nextElementSibling, "tbody tr").length;
      input.value = "";
      input.dispatchEvent(new Event("input"));
    }
    var theme = doc.getElementById("theme");
    found.themes = [0, 1, 2].map(function () { theme.click(); return doc.documentElement.dataset.theme || "system"; });
    return found;
  };
})();
