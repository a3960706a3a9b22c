// Charts from the data in the page, tables sorted in place, copying. Everything else is plain HTML and htmx.
(function () {
  "use strict";
  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function axis(name, extra) {
    return Object.assign({ name: name, nameLocation: "middle", nameGap: 30, scale: true, axisLabel: { color: colour("--soft") }, nameTextStyle: { color: colour("--soft") }, splitLine: { lineStyle: { color: colour("--line") } }, axisLine: { lineStyle: { color: colour("--line") } } }, extra || {});
  }
  function escaped(text) { var box = document.createElement("span"); box.textContent = text; return box.innerHTML; }
  var drawings = {
    scatter: function (data) {
      var kinds = Array.from(new Set(data.scatter.map(function (point) { return point.kind; })));
      var palette = { scheduled: "--compute", default: "--stall", role_based: "--sync", unspecialized: "--other" };
      return {
        legend: { textStyle: { color: colour("--ink") }, top: 0 },
        tooltip: { formatter: function (hit) { var point = hit.data.point; return escaped(point.name) + "<br>forecast " + point.x + " µs, measured " + point.y + " µs"; } },
        grid: { left: 78, right: 20, top: 40, bottom: 50 },
        xAxis: axis("forecast µs"), yAxis: axis("measured µs", { nameGap: 58 }),
        dataZoom: [{ type: "inside", xAxisIndex: 0 }, { type: "inside", yAxisIndex: 0 }],
        series: kinds.map(function (kind) {
          return { name: kind.replace(/_/g, " "), type: "scatter", itemStyle: { color: colour(palette[kind] || "--other") },
            data: data.scatter.filter(function (point) { return point.kind === kind; }).map(function (point) { return { value: [point.x, point.y], point: point, symbolSize: point.best ? 16 : 9, symbol: point.best ? "diamond" : "circle" }; }) };
        })
      };
    },
    history: function (data) {
      var points = data.history.slice();
      if (points.length) { points.push([data.total, points[points.length - 1][1]]); }
      return { tooltip: { trigger: "axis" }, grid: { left: 78, right: 20, top: 20, bottom: 50 }, xAxis: axis("candidates ended", { min: 0 }), yAxis: axis("best µs", { nameGap: 58 }), series: [{ type: "line", step: "end", data: points, symbolSize: 6, itemStyle: { color: colour("--compute") } }] };
    }
  };
  function draw() {
    var source = document.getElementById("chart-data");
    if (!source || !window.echarts) { return; }
    var data = JSON.parse(source.textContent);
    document.querySelectorAll("[data-chart]").forEach(function (box) {
      var chart = window.echarts.getInstanceByDom(box) || window.echarts.init(box, null, { renderer: "svg" });
      chart.setOption(drawings[box.dataset.chart](data), true);
    });
  }
  document.addEventListener("DOMContentLoaded", draw);
  document.addEventListener("htmx:load", function (event) { if (event.target.querySelector && event.target.querySelector("[data-chart]")) { draw(); } });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.addEventListener("resize", function () {
    document.querySelectorAll("[data-chart]").forEach(function (box) { var chart = window.echarts && window.echarts.getInstanceByDom(box); if (chart) { chart.resize(); } });
  });
  // Paper is white and narrower than a screen: charts take the light colours and the width of a page, and get theirs back afterwards.
  var PAPER = 690;
  function print(on) {
    document.documentElement.toggleAttribute("data-print", on);
    draw();
    document.querySelectorAll("[data-chart]").forEach(function (box) { var chart = window.echarts && window.echarts.getInstanceByDom(box); if (chart) { chart.resize(on ? { width: Math.min(PAPER, box.clientWidth) } : { width: "auto" }); } });
  }
  window.addEventListener("beforeprint", function () { print(true); });
  window.addEventListener("afterprint", function () { print(false); });
  function value(row, place) { return row.cells[place].dataset.v || ""; }
  function sortRows(table, heading) {
    var body = table.tBodies[0], place = heading.cellIndex, down = heading.getAttribute("aria-sort") === "ascending", rows = Array.from(body.rows);
    var numeric = rows.every(function (row) { var text = value(row, place); return text === "" || !isNaN(text); });
    rows.sort(function (one, other) {
      var a = value(one, place), b = value(other, place);
      if (a === "" || b === "") { return (a === "") - (b === ""); }  // without a value: last, either way
      return (numeric ? a - b : a.localeCompare(b)) * (down ? -1 : 1);
    });
    body.append.apply(body, rows);
    Array.from(heading.parentNode.cells).forEach(function (other) { other.removeAttribute("aria-sort"); });
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  }
  function copy(button) {
    var text = document.getElementById(button.dataset.copy);
    function done() { button.textContent = "copied"; }
    function select() { window.getSelection().selectAllChildren(text); button.textContent = "selected: press Ctrl and C"; }
    if (navigator.clipboard) { navigator.clipboard.writeText(text.textContent).then(done, select); } else { select(); }
  }
  function failed(event) {
    var box = event.detail.target, words = document.createElement("p");
    words.className = "warn";
    words.textContent = event.detail.xhr && event.detail.xhr.status ? "The server could not answer this part (" + event.detail.xhr.status + ")." : "The server did not answer; is it still running?";
    box.replaceChildren(words);
  }
  document.addEventListener("htmx:responseError", failed);
  document.addEventListener("htmx:sendError", failed);
  document.addEventListener("click", function (event) {
    var sorter = event.target.closest("[data-sort]"), copier = event.target.closest("[data-copy]"), table = sorter && sorter.closest("table[data-sortable]");
    if (table) { event.preventDefault(); sortRows(table, sorter.closest("th")); }
    if (copier) { copy(copier); }
    var ask = event.target.closest("[data-ask]");
    if (ask && !window.confirm(ask.dataset.ask)) { event.preventDefault(); return; }
    var form = event.target.closest("form[data-choose]"), all = event.target.closest("[data-all]"), sure = event.target.closest("[data-sure]");
    if (!form) { return; }
    var boxes = Array.from(form.querySelectorAll("input[name=job]"));
    if (all) { var wanted = !boxes.every(function (box) { return box.checked; }); boxes.forEach(function (box) { box.checked = wanted; }); }
    var count = boxes.filter(function (box) { return box.checked; }).length;
    form.querySelector("[data-count]").textContent = count ? count + " selected" : sure ? "select jobs first" : "";
    if (sure && (!count || !window.confirm(sure.dataset.sure))) { event.preventDefault(); }
  });
})();
