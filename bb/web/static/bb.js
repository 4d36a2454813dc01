// Live updates: requests the page again when the ledger has changed, and replaces only the parts that differ. Text being
// typed, opened elements and scroll positions are kept. Every page also works without this script.
"use strict";

const FOR_SCRIPTS = { "X-BB-Script": "1" };
const POLL = 2000, TRY_AGAIN = 15000, AGES = 10000, PATIENCE = 20000; // milliseconds; the server beats every ten seconds
const TYPED = "input:not([type=hidden]), textarea, select";

let cursor = "", mark = "", line = null, poll = 0, watch = 0, wanted = 0, isAsking = false, isStale = false, refused = "";
const sending = new WeakSet(); // forms that are being submitted
const DRAFTS = "bb-drafts", ONCE = "bb-once", MOST_KEPT = 100; // names in this tab's storage, and entries of each

// -- messages and ages

function say(text, isBad) {
  const place = document.getElementById("said"), said = document.createElement("p");
  said.textContent = text;
  said.className = isBad ? "bad" : "";
  place.append(said);
  setTimeout(() => said.remove(), isBad ? 12000 : 4000);
}

function linkIs(state, text) {
  const place = document.getElementById("link");
  if (place && (place.className !== `link ${state}` || place.textContent !== text)) {
    place.className = `link ${state}`;
    place.textContent = text;
  }
}

function span(seconds) {
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (seconds < 60) return `${Math.floor(seconds)}s`;
  if (minutes < 60) return `${minutes}m`;
  if (hours < 24) return `${hours}h ${minutes % 60}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

function tellAges(within) {
  for (const time of within.querySelectorAll("time[data-ago], time[data-left]")) {
    const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000;
    if (Number.isNaN(seconds)) continue;
    const text = "left" in time.dataset ? `${span(Math.max(seconds, 0))} left` : seconds > -5 ? "just now" : `${span(-seconds)} ago`;
    if (time.textContent !== text) time.textContent = text;
    time.title = new Date(time.dateTime).toLocaleString();
  }
}

// -- applying differences

const keyOf = (node) => node.nodeType === 1 ? node.dataset.key || node.id || "" : "";
const formOf = (field) => field.form?.dataset.key || "";
const isTyped = (node) => node.matches(TYPED) && (node.dataset.typed !== undefined || node === document.activeElement);
const holdsTyped = (node) => node.nodeType === 1 && [node, ...node.querySelectorAll(TYPED)].some((each) => each.matches(TYPED) && each.dataset.typed !== undefined);

function becomes(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if ("keep" in old.dataset || isTyped(old)) return;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !(name === "open" && old.tagName === "DETAILS")) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  childrenBecome(old, fresh);
  if (old.matches("input, textarea, select") && old.value !== fresh.value) old.value = fresh.value; // attributes do not reach it
}

function childrenBecome(old, fresh) {
  const known = new Map([...old.childNodes].filter(keyOf).map((node) => [keyOf(node), node]));
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const key = keyOf(next);
    let found = key ? known.get(key) : at;
    while (!key && found && (keyOf(found) || found.nodeName !== next.nodeName)) found = found.nextSibling;
    if (!found || found.nodeName !== next.nodeName) {
      old.insertBefore(document.importNode(next, true), at);
      continue;
    }
    if (found === at) at = at.nextSibling;
    else if (old.moveBefore) old.moveBefore(found, at); // keeps the focus
    else old.insertBefore(found, at);
    known.delete(key);
    becomes(found, next);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    if (!gone.dataset || !("keep" in gone.dataset)) leave(gone);
  }
}

function leave(node) { // a field with unsent text is kept
  if (holdsTyped(node)) node.classList.add("gone");
  else node.remove();
}

// -- refreshing the page

function ask(address, headers) {
  return fetch(address, { headers: { ...FOR_SCRIPTS, ...headers }, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
}

async function refresh() {
  if (isAsking) { isStale = true; return; }
  isAsking = true;
  const asked = ++wanted, address = location.href;
  try {
    const answer = await ask(address, mark ? { "If-None-Match": mark } : {});
    if (asked !== wanted || address !== location.href) return;
    if (answer.status === 401) { startedAnew(); return; }
    if (!answer.ok && answer.status !== 304) { refuse(await reason(answer)); return; }
    refused = "";
    if (line && line.readyState === EventSource.OPEN) linkIs("live", "Live");
    if (answer.status === 304) return;
    const text = await answer.text();
    if (asked === wanted && address === location.href) {
      mark = answer.headers.get("etag") || "";
      put(text);
    }
  } catch {
    if (asked === wanted) lost();
  }
  finally {
    if (asked === wanted) isAsking = false;
    if (isStale) { isStale = false; refresh(); }
  }
}

function refuse(why) { // shows the same refusal only once
  linkIs("lost", "The server refused this page");
  if (refused !== why) say(why, true);
  refused = why;
}

function put(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html"), page = fresh.getElementById("page");
  if (!page) { location.reload(); return; }
  const thread = document.querySelector(".drawer .thread");
  const isAtEnd = thread && thread.scrollHeight - thread.scrollTop - thread.clientHeight < 40;
  const focused = document.activeElement, around = focused && focused !== document.body ? placesOf(focused) : [];
  tellAges(page);
  document.title = fresh.title;
  becomes(document.getElementById("page"), page);
  bringBackDrafts();
  if (isAtEnd) toTheLatest();
  if (around.length && document.activeElement === document.body) focusNear(around);
  markRow();
}

function placesOf(node) { // the keys of a node's ancestors, the nearest first
  const keys = [];
  for (let each = node.closest("[data-key]"); each; each = each.parentElement.closest("[data-key]")) keys.push(each.dataset.key);
  return keys;
}

function focusNear(keys) { // the focused element is gone: move the focus to the nearest ancestor that is left
  const all = [...document.querySelectorAll("[data-key]")];
  const near = keys.map((key) => all.find((each) => each.dataset.key === key)).find(Boolean);
  (near?.querySelector("summary, a[href], button:not([hidden])") || document.getElementById("content")).focus();
}

// Unsent text is saved in this tab's storage at each key press, and restored when the person comes back. It is removed
// when it is sent, when the field has its original value again, and when the tab is closed.

const unkept = new Map(); // text that could not be stored: it is kept as long as the page

function kept(name) {
  if (unkept.has(name)) return new Map(unkept.get(name));
  try { return new Map(JSON.parse(sessionStorage.getItem(name) || "[]")); }
  catch { return new Map(); } // no storage, or invalid content
}

function keep(name, entries) { // stores the newest entries
  const latest = [...entries].slice(-MOST_KEPT);
  try { sessionStorage.setItem(name, JSON.stringify(latest)); }
  catch { unkept.set(name, latest); } // no storage, or it is full
}

const draftOf = (field) => JSON.stringify([formOf(field), field.name]);
const isDraft = (field) => Boolean(formOf(field)) && field.form.method === "post";

function keepDraft(field) {
  const drafts = kept(DRAFTS);
  const wasThere = drafts.delete(draftOf(field)); // so that the newest entry is last
  if (field.dataset.typed !== undefined) drafts.set(draftOf(field), field.value);
  else if (!wasThere) return;
  keep(DRAFTS, drafts);
}

function forgetDrafts(form) { // called after a successful submission
  const drafts = kept(DRAFTS), sent = kept(ONCE);
  for (const each of form.querySelectorAll(TYPED)) {
    delete each.dataset.typed;
    drafts.delete(draftOf(each));
  }
  sent.delete(form.dataset.key);
  keep(DRAFTS, drafts);
  keep(ONCE, sent);
}

function letGo() { // navigation within the page: its fields may be replaced
  for (const each of document.querySelectorAll("[data-typed]")) delete each.dataset.typed;
}

function bringBackDrafts() {
  const drafts = kept(DRAFTS);
  for (const each of drafts.size ? document.querySelectorAll(`form[method=post] :is(${TYPED})`) : []) {
    if (!isDraft(each) || !drafts.has(draftOf(each)) || each.dataset.typed !== undefined) continue;
    const before = each.value;
    each.value = drafts.get(draftOf(each));
    if (each.matches("select") && !each.value) { each.value = before; continue; } // the option no longer exists
    each.dataset.typed = "";
    each.closest("details")?.setAttribute("open", "");
  }
}

function keyFor(form, words) { // submitting the same text again after a lost answer records one message
  const sent = kept(ONCE), known = sent.get(form.dataset.key);
  if (known?.words === words) return known.key;
  const key = crypto.randomUUID();
  sent.delete(form.dataset.key);
  keep(ONCE, sent.set(form.dataset.key, { words, key }));
  return key;
}

async function reason(answer) {
  try {
    const { error } = await answer.json();
    return error.hint ? `${error.message} — ${error.hint}` : error.message;
  } catch { return `The server answered with status ${answer.status}`; }
}

// -- notifications of changes

function listen() {
  stopPolling();
  if (line) line.close();
  line = new EventSource(`/live?after=${encodeURIComponent(cursor)}`);
  line.addEventListener("open", () => { stopPolling(); heard(); linkIs("live", "Live"); });
  line.addEventListener("changed", (event) => { heard(); cursor = event.lastEventId; refresh(); });
  line.addEventListener("beat", heard);
  line.addEventListener("error", () => { // the browser usually reconnects by itself
    lost();
    if (line && line.readyState === EventSource.CLOSED) { line = null; soon(); }
  });
}

function heard() { // detects a server that hangs: its connection stays open but silent
  clearTimeout(watch);
  watch = setTimeout(() => { lost(); listen(); }, PATIENCE);
}

function lost() {
  linkIs("lost", "Connection lost; reconnecting");
  if (!poll) poll = setTimeout(pollOnce, POLL);
}

function soon() { setTimeout(() => { if (!line && !document.hidden) listen(); }, TRY_AGAIN); }

function startedAnew() { // retries, since the new address may be opened in another window
  stop();
  linkIs("lost", "bb web was restarted: open the address that it printed");
  soon();
}

async function pollOnce() {
  poll = setTimeout(pollOnce, POLL);
  try {
    const answer = await ask("/live/now");
    if (answer.status === 401) { startedAnew(); return; }
    const now = (await answer.json()).cursor;
    const isBack = line && line.readyState === EventSource.OPEN;
    if (isBack) stopPolling();
    linkIs(isBack ? "live" : "polling", isBack ? "Live" : "Polling every two seconds");
    cursor = now;
    refresh(); // cheap if nothing has changed
  } catch { linkIs("lost", "Connection lost; reconnecting"); }
}

function stopPolling() { clearTimeout(poll); poll = 0; }
function stop() { stopPolling(); clearTimeout(watch); if (line) line.close(); line = null; }

document.addEventListener("visibilitychange", () => { // a hidden page closes its stream: browsers allow six per host
  if (document.hidden) stop();
  else listen();
});

function toTheLatest() {
  const thread = document.querySelector(".drawer .thread");
  if (thread) thread.scrollTop = thread.scrollHeight;
}

// -- navigation without a full load

async function go(address, isBack) {
  const opener = document.activeElement, key = opener && opener.closest("[data-key]")?.dataset.key;
  letGo();
  if (!isBack) history.pushState({ opener: key }, "", address);
  mark = refused = "";
  wanted++; // discards pending requests
  isAsking = false;
  const before = document.getElementById("drawer")?.dataset.key;
  await refresh();
  const drawer = document.getElementById("drawer");
  if (drawer && drawer.dataset.key !== before) { toTheLatest(); document.getElementById("drawer-title").focus(); }
  else if (!drawer && before) [...document.querySelectorAll("[data-key]")].find((each) => `drawer ${each.dataset.key.slice(5)}` === before)?.querySelector("a")?.focus();
  else if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  else if (document.activeElement === document.body) document.getElementById("content").focus();
}

window.addEventListener("popstate", () => go(location.href, true));

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-soft]");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.href);
});

// -- forms

document.addEventListener("input", ({ target }) => {
  if (!target.matches(TYPED)) return;
  if (target.matches("input, textarea") && target.value === target.defaultValue) delete target.dataset.typed;
  else target.dataset.typed = "";
  if (isDraft(target)) keepDraft(target);
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && form.matches("form[method=get]") && event.target.tagName === "SELECT") form.requestSubmit();
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method === "dialog") return;
  event.preventDefault();
  const filled = new FormData(form, event.submitter);
  if (form.method === "get") {
    const asked = new URLSearchParams([...filled].filter(([, value]) => value));
    for (const each of form.querySelectorAll(TYPED)) delete each.dataset.typed;
    go(`${form.getAttribute("action")}?${asked}`);
    return;
  }
  if (sending.has(form)) return; // ignores a double submission
  sending.add(form);
  if (form.querySelector("textarea")) filled.set("key", keyFor(form, new URLSearchParams(filled).toString()));
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", headers: FOR_SCRIPTS, body: new URLSearchParams(filled), signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) { say(await reason(answer), true); return; }
    say((await answer.json()).data.said);
    forgetDrafts(form);
    form.reset();
    const menu = form.closest("details");
    menu?.removeAttribute("open");
    menu?.querySelector("summary").focus(); // closing it would lose the focus
    mark = "";
    refresh();
  } catch { say("Not sent: the connection is lost. Your text is still in the form.", true); }
  finally { sending.delete(form); }
});

// -- keys

let row = "";

function rows() { return [...document.querySelectorAll("[data-row]")].filter((each) => each.offsetParent); }

function markRow() {
  for (const each of rows()) each.toggleAttribute("data-here", row !== "" && each.closest("[data-key]")?.dataset.key === row);
}

function step(by) {
  const all = rows(), at = all.findIndex((each) => each.closest("[data-key]")?.dataset.key === row);
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!next) return;
  row = next.closest("[data-key]")?.dataset.key || "";
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  markRow();
}

document.addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape") {
    const opened = document.querySelector("details.more[open]"), close = document.querySelector("[data-close]");
    if (event.target.matches?.(TYPED)) event.target.blur();
    else if (opened) opened.removeAttribute("open");
    else if (close && !document.getElementById("keys").open) go(close.href);
    return;
  }
  if (event.target.matches?.(TYPED)) return;
  if (event.key === "Enter" && event.target.matches?.("[data-row]:not(a)")) event.target.querySelector("summary, a, button:not([hidden])")?.focus();
  const pages = [...document.querySelectorAll(".top nav a")];
  if (event.key === "?") document.getElementById("keys").showModal();
  else if (event.key === "/") { const search = document.querySelector("input[type=search]"); if (search) { event.preventDefault(); search.focus(); } }
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (pages[event.key - 1]) location.href = pages[event.key - 1].href;
});

document.addEventListener("toggle", (event) => { // one menu at a time
  if (event.target.matches?.("details.more[open]")) for (const each of document.querySelectorAll("details.more[open]")) if (each !== event.target) each.removeAttribute("open");
}, true);

window.addEventListener("pageshow", bringBackDrafts); // on load and when restored from the back/forward cache
tellAges(document);
toTheLatest();
setInterval(() => { if (!document.hidden) tellAges(document); }, AGES);
if (!document.hidden) listen();
