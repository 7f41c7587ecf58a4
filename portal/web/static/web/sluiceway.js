// Niceties on top of pages that work without them: copy a command, estimate a cost while typing,
// focus an error summary, guard a form against a second click, and keep what was written in a form
// when the session has ended before it was sent.
(function () {
  "use strict";
  document.documentElement.classList.add("js");

  const summary = document.getElementById("error-summary");
  if (summary) summary.focus();

  // A chart wider than the screen shows its last bar first.
  document.querySelectorAll("[data-to-last]").forEach(function (scroller) {
    const bars = scroller.querySelectorAll("rect");
    const last = bars[bars.length - 1];
    if (!last) return;
    const beyond = last.getBoundingClientRect().right - scroller.getBoundingClientRect().right;
    if (beyond > 0) scroller.scrollLeft = beyond + 24;
  });

  document.querySelectorAll("[data-copy]").forEach(function (button) {
    button.addEventListener("click", function () {
      const source = document.getElementById(button.dataset.copy);
      const label = button.textContent;
      copyText(source.textContent.trim(), source).then(function (done) {
        button.textContent = done ? "Copied" : "Selected";
        setTimeout(function () { button.textContent = label; }, 1600);
      });
    });
  });

  function copyText(text, source) {
    if (navigator.clipboard) {
      return navigator.clipboard.writeText(text).then(
        function () { return true; },
        function () { return selectText(source); }
      );
    }
    return Promise.resolve(selectText(source));
  }

  function selectText(source) {
    const range = document.createRange();
    range.selectNodeContents(source);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return false;
  }

  document.querySelectorAll("form[data-once]").forEach(function (form) {
    let isSent = false;
    form.addEventListener("submit", function (event) {
      if (isSent) { event.preventDefault(); return; }
      isSent = true;
      setTimeout(function () { isSent = false; }, 5000);
    });
  });
  window.addEventListener("pageshow", function (event) {
    if (event.persisted) window.location.reload();
  });

  keepWords();

  // What is sent is kept for this tab; the next page forgets it, unless signing in came between.
  function keepWords() {
    const key = "sluiceway-words";
    const reader = document.body.dataset.reader;
    const kept = JSON.parse(sessionStorage.getItem(key) || "null");
    if (document.querySelector("form[data-sign-in]")) {
      if (kept) sessionStorage.setItem(key, JSON.stringify(Object.assign(kept, {isRefused: true})));
      return;
    }
    sessionStorage.removeItem(key);
    document.querySelectorAll("main form[method=post]").forEach(function (form) {
      if (kept && kept.isRefused && kept.reader === reader && kept.action === form.action) {
        listWords(form).forEach(function (field) {
          if (field.name in kept.words) field.value = kept.words[field.name];
        });
        const details = form.closest("details");
        if (details) details.open = true;
      }
      form.addEventListener("submit", function () {
        const words = {};
        listWords(form).forEach(function (field) { words[field.name] = field.value; });
        const value = {reader: reader, action: form.action, words: words};
        sessionStorage.setItem(key, JSON.stringify(value));
      });
    });
  }

  function listWords(form) {
    return form.querySelectorAll("textarea, select, input:not([type=hidden])");
  }

  const reviewForm = document.getElementById("review-form");
  if (reviewForm) watchReview(reviewForm, JSON.parse(reviewForm.dataset.prices));

  // The cost at most of what is granted, while the reviewer types.
  function watchReview(form, prices) {
    form.addEventListener("input", refresh);
    refresh();

    function refresh() {
      let total = 0n;
      let isKnown = true;
      form.querySelectorAll("[data-line]").forEach(function (row) {
        const units = row.querySelector("[name^='units-']").value.trim();
        const hours = row.querySelector("[name^='unit_hours-']").value.trim();
        const price = prices.lines[row.dataset.line];
        const box = row.querySelector("[data-estimate]");
        const isNumber = /^[0-9]{1,12}$/.test(hours) && /^[0-9]{1,12}$/.test(units);
        if (!price || !isNumber) {
          isKnown = false;
          box.textContent = "no data";
          return;
        }
        const minor = BigInt(units) ? toMinorUnits(BigInt(hours) * BigInt(price), prices) : 0n;
        total += minor;
        box.textContent = render(minor, prices);
      });
      form.querySelector("[data-total]").textContent = isKnown ? render(total, prices) : "no data";
    }
  }

  const requestForm = document.getElementById("request-form");
  if (requestForm) watchRequest(requestForm, JSON.parse(requestForm.dataset.prices));

  function watchRequest(form, catalogue) {
    const touched = new WeakSet();
    form.addEventListener("input", function (event) {
      touched.add(event.target);
      refresh();
    });
    form.addEventListener("change", function (event) {
      const line = event.target.closest("fieldset.request-line");
      if (line && event.target.name.endsWith("-offering")) prefill(line, event.target.value);
      refresh();
    });
    refresh();

    function prefill(line, code) {
      const offering = catalogue.offerings[code];
      if (!offering) return;
      ["units", "unit_hours"].forEach(function (name) {
        const field = find(line, name);
        if (!touched.has(field)) field.value = offering[name];
      });
    }

    function find(line, name) {
      return line.querySelector("[name$='-" + name + "']");
    }

    function refresh() {
      const project = form.querySelector("[name=project]").value;
      const prices = catalogue.prices[project] || catalogue.prices[""];
      let total = 0n;
      let isKnown = true;
      form.querySelectorAll("fieldset.request-line").forEach(function (line) {
        const price = (prices[find(line, "offering").value] || {})[find(line, "purchase_option").value];
        const hours = find(line, "unit_hours").value.trim();
        const box = line.querySelector("[data-estimate]");
        if (price === undefined || !/^[0-9]{1,12}$/.test(hours)) {
          isKnown = false;
          box.textContent = "no data";
          return;
        }
        const minor = toMinorUnits(BigInt(hours) * BigInt(price), catalogue);
        total += minor;
        box.textContent = render(minor, catalogue);
      });
      form.querySelector("[data-total]").textContent = isKnown ? render(total, catalogue) : "no data";
    }
  }

  // Half to even, as the ledger rounds.
  function toMinorUnits(micros, money) {
    const size = 10n ** BigInt(6 - money.exponent);
    const whole = micros / size;
    const twice = (micros % size) * 2n;
    return twice > size || (twice === size && whole % 2n === 1n) ? whole + 1n : whole;
  }

  function render(minor, money) {
    const digits = minor.toString().padStart(money.exponent + 1, "0");
    const cut = digits.length - money.exponent;
    const whole = digits.slice(0, cut).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
    const rest = money.exponent ? "." + digits.slice(cut) : "";
    return whole + rest + " " + money.currency;
  }
})();
