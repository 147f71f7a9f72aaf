// Draw numbers that a table next to the chart has too. Chart.js comes with Unfold; colours come from the tokens, and follow the theme.

const GAP = 4;

function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function settings(figures) {
  const text = colour("--wf-text-2");
  const line = colour("--wf-line");
  return {
    type: "bar",
    data: {
      labels: figures.labels,
      datasets: figures.series.map(({ label, values, colour: name }) => ({
        label,
        data: values,
        backgroundColor: colour(name),
        borderRadius: GAP,
        maxBarThickness: 18,
      })),
    },
    options: {
      animation: false,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      plugins: { legend: { align: "end", labels: { color: text, boxWidth: 12, boxHeight: 12 } } },
      scales: {
        x: { grid: { display: false }, border: { color: line }, ticks: { color: text, maxRotation: 0 } },
        y: { beginAtZero: true, grid: { color: line }, border: { display: false }, ticks: { color: text, precision: 0 } },
      },
    },
  };
}

for (const place of document.querySelectorAll("[data-chart]")) {
  const figures = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  place.hidden = false;
  let drawn = new window.Chart(place.querySelector("canvas"), settings(figures));
  new MutationObserver(() => {
    drawn.destroy();
    drawn = new window.Chart(place.querySelector("canvas"), settings(figures));
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
  document.querySelector("[data-chart-table]").open = false;
}
