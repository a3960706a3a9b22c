// Timelines: each is fitted to its box; wheel, drag, buttons and keys zoom; pointer and arrow keys name a bar and its cycles.
// Timelines inside one [data-linked] element show the same cycles. A timeline opens on its steady state, or on the range that the
// address names (#cycles=FROM-TO, with the timeline's number before the range if it is not the first).
(function () {
  "use strict";
  var CHARACTER = 6.2, NARROWEST = 40;
  function number(node, name) { return Number(node.getAttribute("data-" + name)); }
  function all(root, selector) { return Array.prototype.slice.call(root.querySelectorAll(selector)); }
  function round(value) { return value.toFixed(1); }

  function Timeline(area) {
    this.area = area;
    this.box = area.closest(".timeline-box");
    this.svg = area.querySelector("svg.timeline");
    this.plot = this.svg.querySelector("svg.plot");
    this.readout = this.box.querySelector(".readout");
    this.hint = this.readout.textContent;
    this.begin = number(this.svg, "begin");
    this.end = number(this.svg, "end");
    this.full = number(this.svg, "label");
    this.bars = all(this.plot, ".span, .phase").map(function (node) {
      return { node: node, from: number(node, "s"), to: number(node, "e"), rect: node.querySelector("rect"), line: node.querySelector("line"), text: node.querySelector("text") };
    });
    this.rows = all(this.plot, ".row").map(function (row) {
      var found = all(row, ".span").map(function (node) {
        var title = node.querySelector("title"), words = title.textContent;
        title.remove();  // the line under the drawing says it, for pointer and keys alike
        return { node: node, from: number(node, "s"), to: number(node, "e"), words: words, lane: row.getAttribute("data-name") };
      });
      return found.sort(function (a, b) { return a.from - b.from; });
    }).filter(function (row) { return row.length > 0; });
    this.first = this.svg.hasAttribute("data-first") ? number(this.svg, "first") : this.begin;
    this.last = this.svg.hasAttribute("data-last") ? number(this.svg, "last") : this.end;
    this.from = this.first;
    this.to = this.last;
    this.row = 0;
    this.place = -1;
    this.svg.setAttribute("data-fitted", "");
    area.setAttribute("data-ready", "");
    area.setAttribute("role", "application");
    this.slice = this.box.querySelector(".slice");
    this.finder = this.box.querySelector("[data-find]");
    this.listen();
    this.follow();
    new ResizeObserver(this.fit.bind(this)).observe(area);
    this.fit();
  }

  Timeline.prototype.fit = function () {
    var width = Math.max(240, this.area.clientWidth), height = number(this.svg, "height"), narrow = width < 600;
    this.label = narrow ? 100 : this.full;
    this.width = width - this.label;
    this.svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    this.svg.style.height = height + "px";
    this.plot.setAttribute("x", this.label);
    this.plot.setAttribute("width", this.width);
    var room = Math.floor((this.label - 12) / CHARACTER);
    all(this.svg, "text.lane").forEach(function (text) {
      var title = text.querySelector("title"), name = title.textContent;
      text.setAttribute("x", this.label - 8);
      text.lastChild.nodeValue = name.length <= room ? name : name.slice(0, room - 1) + "…";
    }, this);
    this.draw();
  };

  Timeline.prototype.draw = function () {
    var from = this.from, scale = this.width / (this.to - from), width = this.width;
    this.bars.forEach(function (bar) {
      var hidden = bar.to <= from || bar.from >= this.to;
      bar.node.style.display = hidden ? "none" : "";
      if (hidden) { return; }
      var x = Math.max(-2, (bar.from - from) * scale), right = Math.min(width + 2, (bar.to - from) * scale);
      bar.rect.setAttribute("x", round(x));
      bar.rect.setAttribute("width", round(Math.max(0.8, right - x)));
      if (bar.line) { bar.line.setAttribute("x1", round((bar.from - from) * scale)); bar.line.setAttribute("x2", round((bar.from - from) * scale)); }
      if (!bar.text) { return; }
      var left = Math.max(x, 0), room = Math.floor((Math.min(right, width) - left) / CHARACTER) - 1, words = bar.text.getAttribute("data-text");
      bar.text.setAttribute("x", round(left + 4));
      bar.text.textContent = room < 3 ? "" : words.length <= room ? words : words.slice(0, room - 1) + "…";
    }, this);
    this.axis(scale);
    this.area.setAttribute("data-from", Math.round(from));
    this.area.setAttribute("data-to", Math.round(this.to));
  };

  Timeline.prototype.axis = function (scale) {
    var step = 1, ticks = this.plot.querySelector(".ticks"), width = this.width, top = number(this.svg, "top"), bottom = number(this.svg, "bottom");
    while ((this.to - this.from) / step > Math.max(3, width / 90)) { step = String(step)[0] === "2" ? step * 5 / 2 : step * 2; }
    ticks.replaceChildren();
    for (var cycle = Math.ceil(this.from / step) * step; cycle <= this.to; cycle += step) {
      var x = (cycle - this.from) * scale, line = this.make("line", { "class": "tick", x1: round(x), x2: round(x), y1: top, y2: bottom });
      var text = this.make("text", { "class": "axis", x: round(x), y: bottom + 16, "text-anchor": x < 12 ? "start" : x > width - 20 ? "end" : "middle" });
      text.textContent = cycle.toLocaleString("en");
      ticks.append(line, text);
    }
  };

  Timeline.prototype.make = function (name, attributes) {
    var node = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.keys(attributes).forEach(function (key) { node.setAttribute(key, attributes[key]); });
    return node;
  };

  Timeline.prototype.view = function (from, to, alone) {
    var length = Math.min(this.end - this.begin, Math.max(NARROWEST, to - from));
    this.from = Math.min(Math.max(this.begin, from), this.end - length);
    this.to = this.from + length;
    this.draw();
    var group = alone ? null : this.box.closest("[data-linked]");
    if (group) { all(group, ".timeline-area").forEach(function (area) { if (area !== this.area && area.timeline) { area.timeline.view(this.from, this.to, true); } }, this); }
  };
  Timeline.prototype.zoom = function (factor, around) {
    var length = (this.to - this.from) * factor, share = (around - this.from) / (this.to - this.from);
    this.view(around - length * share, around - length * share + length);
  };
  Timeline.prototype.pan = function (share) { var by = (this.to - this.from) * share; this.view(this.from + by, this.to + by); };
  Timeline.prototype.fits = function () { return this.from <= this.begin && this.to >= this.end; };
  Timeline.prototype.at = function (event) { return this.from + (event.clientX - this.plot.getBoundingClientRect().left) / this.width * (this.to - this.from); };
  Timeline.prototype.middle = function () {
    var bar = this.place >= 0 ? this.rows[this.row][this.place] : null;
    return bar && bar.to > this.from && bar.from < this.to ? (Math.max(bar.from, this.from) + Math.min(bar.to, this.to)) / 2 : (this.from + this.to) / 2;
  };

  Timeline.prototype.show = function (row, place) {
    all(this.plot, ".active").forEach(function (node) { node.classList.remove("active"); });
    this.row = row;
    this.place = place;
    if (place < 0) { this.readout.textContent = this.hint; this.details(null); return; }
    var bar = this.rows[row][place], lane = document.createElement("b");
    bar.node.classList.add("active");
    lane.textContent = bar.lane;
    this.readout.replaceChildren(lane, " " + bar.words);
  };
  // What is known of a selected bar, with the bars of the same name on its lane that can be seen.
  Timeline.prototype.details = function (bar) {
    if (!this.slice) { return; }
    this.slice.replaceChildren();
    if (!bar) { return; }
    var from = this.from, to = this.to, name = bar.words.split(": cycles ")[0], rest = bar.words.split("; ").slice(1).join("; ");
    var same = this.rows[this.row].filter(function (other) { return other.words.split(": cycles ")[0] === name && other.to > from && other.from < to; });
    var total = same.reduce(function (sum, other) { return sum + other.to - other.from; }, 0);
    [["Lane", bar.lane], ["What", name], ["Cycles", bar.from.toLocaleString("en") + " to " + bar.to.toLocaleString("en") + ", " + (bar.to - bar.from).toLocaleString("en") + " long"],
      ["Alike in view", same.length + ", together " + total.toLocaleString("en") + " cycles, " + (100 * total / (to - from)).toFixed(1) + " % of the view"], ["Details", rest]].forEach(function (pair) {
      if (!pair[1]) { return; }
      var term = document.createElement("dt"), words = document.createElement("dd");
      term.textContent = pair[0];
      words.textContent = pair[1];
      this.slice.append(term, words);
    }, this);
  };
  // Bars whose name or lane has the text stay bright; Enter goes from one to the next.
  Timeline.prototype.find = function (text, step) {
    var wanted = text.trim().toLowerCase(), found = [];
    this.rows.forEach(function (bars, row) { bars.forEach(function (bar, place) {
      var hit = wanted !== "" && (bar.lane + " " + bar.words).toLowerCase().indexOf(wanted) >= 0;
      bar.node.classList.toggle("dim", wanted !== "" && !hit);
      bar.node.classList.toggle("hit", hit);
      if (hit) { found.push([row, place, bar]); }
    }); });
    if (wanted === "") { this.show(this.row, -1); return; }
    if (!found.length) { this.show(this.row, -1); this.readout.textContent = "Nothing is called “" + text + "”."; return; }
    found.sort(function (a, b) { return a[2].from - b[2].from; });
    if (step) {
      this.hit = ((this.hit === undefined ? -1 : this.hit) + step + found.length) % found.length;
      this.go(found[this.hit][0], found[this.hit][1]);
      this.details(found[this.hit][2]);
    } else { this.hit = undefined; this.readout.textContent = found.length + " found; Enter goes to the next."; }
  };
  Timeline.prototype.number = function () { return all(document, ".timeline-area").indexOf(this.area) + 1; };
  Timeline.prototype.link = function () {
    var place = this.number();
    return "#cycles=" + (place > 1 ? place + ":" : "") + Math.round(this.from) + "-" + Math.round(this.to);
  };
  Timeline.prototype.follow = function () {
    var named = /^#cycles=(?:(\d+):)?(\d+)-(\d+)$/.exec(window.location.hash);
    if (!named || Number(named[1] || 1) !== this.number() || Number(named[3]) <= Number(named[2])) { return; }
    this.from = Math.max(this.begin, Number(named[2]));
    this.to = Math.min(this.end, Math.max(this.from + NARROWEST, Number(named[3])));
    this.named = true;
  };
  Timeline.prototype.go = function (row, place) {
    row = Math.min(Math.max(0, row), this.rows.length - 1);
    place = Math.min(Math.max(0, place), this.rows[row].length - 1);
    this.show(row, place);
    var bar = this.rows[row][place], length = this.to - this.from;
    if (bar.from < this.from || bar.to > this.to) { this.view(bar.from - length / 4, bar.from + length * 3 / 4); }
  };
  Timeline.prototype.nearest = function (row) {
    var middle = this.middle(), best = 0, bars = this.rows[row];
    bars.forEach(function (bar, place) { if (Math.abs((bar.from + bar.to) / 2 - middle) < Math.abs((bars[best].from + bars[best].to) / 2 - middle)) { best = place; } });
    return best;
  };

  Timeline.prototype.keys = function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    var key = event.key, known = true, step = { ArrowRight: 1, ArrowLeft: -1 }[key], lane = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step && event.shiftKey) { this.pan(step / 4); }
    else if (step) { this.go(this.row, this.place < 0 ? this.nearest(this.row) : this.place + step); }
    else if (lane && this.place < 0) { this.go(this.row, this.nearest(this.row)); }
    else if (lane) { var row = Math.min(Math.max(0, this.row + lane), this.rows.length - 1); this.go(row, this.nearest(row)); }
    else if (key === "Home") { this.go(this.row, 0); }
    else if (key === "End") { this.go(this.row, this.rows[this.row].length - 1); }
    else if (key === "+" || key === "=") { this.zoom(0.5, this.middle()); }
    else if (key === "-") { this.zoom(2, this.middle()); }
    else if (key === "0") { this.view(this.begin, this.end); }
    else if (key === "s") { this.view(this.first, this.last); }
    else if (key === "Enter" && this.place >= 0) { this.details(this.rows[this.row][this.place]); }
    else if (key === "/" && this.finder) { this.finder.focus(); }
    else if (key === "Escape") { this.show(this.row, -1); }
    else { known = false; }
    if (known) { event.preventDefault(); }
  };

  Timeline.prototype.wheel = function (event) {
    // A page that scrolls past must not zoom by accident: the wheel belongs to the drawing once it is selected, or with Ctrl.
    if (!event.ctrlKey && !event.metaKey && !this.area.contains(document.activeElement)) { return; }
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) { this.pan(event.deltaX / this.width); }
    else if (event.deltaY > 0 && this.fits() && !event.ctrlKey) { return; }
    else { this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), this.at(event)); }
    event.preventDefault();
  };

  Timeline.prototype.drag = function (down) {
    if (down.button !== 0 || down.clientX < this.plot.getBoundingClientRect().left) { return; }
    var self = this, start = this.at(down), from = this.from, to = this.to, moves = down.shiftKey || down.pointerType === "touch", brush = null;
    function move(event) {
      var shift = event.clientX - down.clientX;
      if (Math.abs(shift) < 4 && !brush) { return; }
      if (moves) { var by = -shift / self.width * (to - from); self.view(from + by, to + by); return; }
      if (!brush) { brush = self.plot.appendChild(self.make("rect", { "class": "brush", y: 0, height: "100%" })); }
      var scale = self.width / (self.to - self.from), here = self.at(event), left = Math.min(start, here);
      brush.setAttribute("x", round((left - self.from) * scale));
      brush.setAttribute("width", round(Math.abs(here - start) * scale));
    }
    function up(event) {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      window.removeEventListener("pointercancel", up);
      if (!brush) { return; }
      brush.remove();
      if (event.type === "pointerup") { self.view(Math.min(start, self.at(event)), Math.max(start, self.at(event))); }
    }
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", up);
  };

  Timeline.prototype.listen = function () {
    var self = this;
    this.area.addEventListener("keydown", this.keys.bind(this));
    this.area.addEventListener("wheel", this.wheel.bind(this), { passive: false });
    this.area.addEventListener("pointerdown", this.drag.bind(this));
    this.area.addEventListener("dblclick", function () { self.view(self.begin, self.end); });
    function point(event) {
      var node = event.target.closest && event.target.closest(".span");
      if (!node) { return; }
      self.rows.forEach(function (bars, row) { bars.forEach(function (bar, place) { if (bar.node === node) { self.show(row, place); } }); });
    }
    this.area.addEventListener("pointerover", point);
    this.area.addEventListener("pointerdown", point);
    this.area.addEventListener("click", function (event) {
      if (event.target.closest && event.target.closest(".span") && self.place >= 0) { self.details(self.rows[self.row][self.place]); }
    });
    if (this.finder) {
      this.finder.addEventListener("input", function () { self.find(self.finder.value, 0); });
      this.finder.addEventListener("keydown", function (event) {
        if (event.key === "Enter") { event.preventDefault(); self.find(self.finder.value, event.shiftKey ? -1 : 1); }
        else if (event.key === "Escape") { self.finder.value = ""; self.find("", 0); self.area.focus(); }
      });
    }
    window.addEventListener("hashchange", function () { self.follow(); self.draw(); });
    all(this.box, "[data-zoom]").forEach(function (button) {
      button.addEventListener("click", function () {
        var what = button.getAttribute("data-zoom");
        if (what === "in") { self.zoom(0.5, self.middle()); }
        else if (what === "out") { self.zoom(2, self.middle()); }
        else if (what === "fit") { self.view(self.begin, self.end); }
        else if (what === "steady") { self.view(self.first, self.last); }
        else if (what === "link") { window.history.replaceState(null, "", self.link()); share(button); }
        else { self.pan(what === "left" ? -0.25 : 0.25); }
      });
    });
  };

  function share(button) {
    function done() { button.textContent = "copied"; }
    function said() { button.textContent = "in the address bar"; }
    if (window.navigator.clipboard) { window.navigator.clipboard.writeText(window.location.href).then(done, said); } else { said(); }
  }
  function setUp(root) {
    all(root, ".timeline-area").forEach(function (area) {
      if (area.timeline || !area.querySelector("svg.timeline")) { return; }
      area.timeline = new Timeline(area);
      if (area.timeline.named) { area.scrollIntoView({ block: "center" }); }
    });
    all(root, "[data-linked]").concat(root.matches && root.matches("[data-linked]") ? [root] : []).forEach(function (group) {
      var linked = all(group, ".timeline-area").map(function (area) { return area.timeline; }).filter(Boolean);
      if (linked.length < 2 || linked.some(function (each) { return each.named; })) { return; }
      var from = Math.min.apply(null, linked.map(function (each) { return each.first; })), to = Math.max.apply(null, linked.map(function (each) { return each.last; }));
      linked.forEach(function (each) { each.view(from, to, true); });
    });
  }
  document.addEventListener("DOMContentLoaded", function () { setUp(document); });
  document.addEventListener("htmx:load", function (event) { setUp(event.target); });
})();
