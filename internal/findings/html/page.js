"use strict";
// The page is complete without this: it filters and regroups what is there, and makes no markup of its own.
(() => {
	const form = document.querySelector("form.filters");
	if (!form) return;
	const main = document.querySelector("main");
	const search = document.getElementById("search");
	const status = form.querySelector(".status");
	const nothing = document.querySelector(".nothing");
	const facets = ["severity", "rule", "package"];
	const cards = [...document.querySelectorAll(".finding")].map((node) => ({
		node,
		held: "suppressed" in node.dataset,
		text: node.textContent.toLowerCase().replace(/\s+/g, " "),
		...Object.fromEntries(facets.map((facet) => [facet, node.dataset[facet]])),
	})).sort((a, b) => a.node.dataset.order - b.node.dataset.order);
	const groups = [...document.querySelectorAll(".group")];

	const chosen = (facet) => [...form.querySelectorAll(`input[name=${facet}]:checked`)].map((box) => box.value);
	const plural = (n) => `${n} finding${n === 1 ? "" : "s"}`;

	// regroup moves each card below the heading that it belongs to.
	function regroup(by) {
		main.dataset.by = by;
		for (const group of groups) {
			if (group.dataset.by !== by) continue;
			const name = group.dataset.name;
			group.querySelector(".cards").append(...cards.filter((card) => card[by] === name).map((card) => card.node));
		}
	}

	function apply() {
		const by = form.elements.by.value;
		if (main.dataset.by !== by) regroup(by);
		const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
		const held = form.elements.suppressed?.checked ?? false;
		const wanted = Object.fromEntries(facets.map((facet) => [facet, chosen(facet)]));
		const in_ = (card, facet) => wanted[facet].length === 0 || wanted[facet].includes(card[facet]);
		const base = cards.filter((card) => (held || !card.held) && words.every((word) => card.text.includes(word)));
		const shown = new Set(base.filter((card) => facets.every((facet) => in_(card, facet))));
		for (const card of cards) card.node.hidden = !shown.has(card);
		for (const group of groups) {
			const n = group.dataset.by === by ? [...shown].filter((card) => card[by] === group.dataset.name).length : 0;
			group.hidden = n === 0;
			group.querySelector(".count").textContent = plural(n);
		}
		// Beside a choice stands what it would show, with the choices made elsewhere.
		for (const facet of facets) {
			const others = base.filter((card) => facets.every((other) => other === facet || in_(card, other)));
			for (const box of form.querySelectorAll(`input[name=${facet}]`)) {
				const n = others.filter((card) => card[facet] === box.value).length;
				box.parentElement.querySelector("output").textContent = n;
				box.parentElement.classList.toggle("empty", n === 0 && !box.checked);
			}
		}
		const all = cards.filter((card) => held || !card.held).length;
		status.textContent = shown.size === all ? plural(all) : `${shown.size} of ${plural(all)}`;
		nothing.hidden = shown.size > 0;
	}

	// reveal shows what a link leads to, whatever hides it.
	function reveal() {
		const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
		if (!target) return;
		if (target.matches("details")) target.open = true;
		if (target.matches(".finding") && target.hidden) {
			const held = "suppressed" in target.dataset || (form.elements.suppressed?.checked ?? false);
			clear();
			if (held) form.elements.suppressed.checked = true;
			apply();
		}
		target.scrollIntoView();
	}

	function clear() {
		for (const box of form.querySelectorAll("input[type=checkbox]")) box.checked = false;
		search.value = "";
		apply();
	}

	// next moves the focus to the finding after or before the one that has it.
	function next(step) {
		const heads = [...main.querySelectorAll(".finding:not([hidden]) h3")].filter((head) => head.offsetParent);
		const at = heads.indexOf(document.activeElement?.closest(".finding")?.querySelector("h3"));
		const head = heads[at < 0 ? 0 : Math.min(Math.max(at + step, 0), heads.length - 1)];
		head?.focus({ preventScroll: true });
		head?.closest(".finding").scrollIntoView({ block: "start" });
	}

	form.addEventListener("input", apply);
	form.addEventListener("submit", (event) => event.preventDefault());
	form.querySelector(".clear").addEventListener("click", clear);
	nothing.querySelector(".clear").addEventListener("click", () => { clear(); search.focus(); });
	addEventListener("hashchange", reveal);
	document.addEventListener("click", (event) => { // a second click on the same link changes no hash
		if (event.target.closest?.("a[href^='#rule-']")) setTimeout(reveal);
	});
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const typing = event.target.matches?.("input[type=search]");
		if (typing && event.key === "Escape") {
			search.value = "";
			apply();
			search.blur();
		} else if (!typing && event.key === "/") {
			event.preventDefault();
			search.focus();
			search.select();
		} else if (!typing && (event.key === "j" || event.key === "k")) {
			next(event.key === "j" ? 1 : -1);
		}
	});

	form.hidden = false;
	form.querySelector(".more").open = matchMedia("(min-width: 60rem)").matches;
	apply();
	reveal();
})();
