// Keeps a page as the server would render it now, without loading it again: asks for it when something has changed, and
// puts in what differs. What somebody is typing, has opened or has scrolled to stays as it is. Every page works without
// this script; with it, nobody has to reload.
"use strict";

const FOR_SCRIPTS = { "X-BB-Script": "1" };
const POLL = 2000, TRY_AGAIN = 15000, AGES = 10000, PATIENCE = 20000; // milliseconds; the server beats every ten seconds
const TYPED = "input:not([type=hidden]), textarea, select";

let cursor = "", mark = "", line = null, poll = 0, watch = 0, wanted = 0, isAsking = false, isStale = false, refused = "";
const sending = new WeakSet(); // forms that are on their way
const DRAFTS = "bb-drafts", ONCE = "bb-once", MOST_KEPT = 100; // names in this tab's storage, and entries of each

// -- what is shown

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

// -- what differs

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
    else if (old.moveBefore) old.moveBefore(found, at); // which leaves the focus where it is
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

function leave(node) { // what somebody is typing in is not taken from under their hands
  if (holdsTyped(node)) node.classList.add("gone");
  else node.remove();
}

// -- the page, as it is now

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

function refuse(why) { // once, however often it is asked for again
  linkIs("lost", "This page cannot be shown as it was asked for");
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

function placesOf(node) { // the keys of all that a node stands in, the nearest first
  const keys = [];
  for (let each = node.closest("[data-key]"); each; each = each.parentElement.closest("[data-key]")) keys.push(each.dataset.key);
  return keys;
}

function focusNear(keys) { // what had the focus is gone: whoever uses the keyboard goes on where it was
  const all = [...document.querySelectorAll("[data-key]")];
  const near = keys.map((key) => all.find((each) => each.dataset.key === key)).find(Boolean);
  (near?.querySelector("summary, a[href], button:not([hidden])") || document.getElementById("content")).focus();
}

// What was typed and not sent waits in this tab's storage, from each key on: however the person leaves, it is there when
// they come back. It goes when it was sent, when the field is as it was, and with the tab.

const unkept = new Map(); // what could not be put there: it lasts as long as the page

function kept(name) {
  if (unkept.has(name)) return new Map(unkept.get(name));
  try { return new Map(JSON.parse(sessionStorage.getItem(name) || "[]")); }
  catch { return new Map(); } // there is no storage, or something else is in it
}

function keep(name, entries) { // the latest of them
  const latest = [...entries].slice(-MOST_KEPT);
  try { sessionStorage.setItem(name, JSON.stringify(latest)); }
  catch { unkept.set(name, latest); } // there is no storage, or no more room in it
}

const draftOf = (field) => JSON.stringify([formOf(field), field.name]);
const isDraft = (field) => Boolean(formOf(field)) && field.form.method === "post";

function keepDraft(field) {
  const drafts = kept(DRAFTS);
  const wasThere = drafts.delete(draftOf(field)); // so that the latest stands last
  if (field.dataset.typed !== undefined) drafts.set(draftOf(field), field.value);
  else if (!wasThere) return;
  keep(DRAFTS, drafts);
}

function forgetDrafts(form) { // it was sent
  const drafts = kept(DRAFTS), sent = kept(ONCE);
  for (const each of form.querySelectorAll(TYPED)) {
    delete each.dataset.typed;
    drafts.delete(draftOf(each));
  }
  sent.delete(form.dataset.key);
  keep(DRAFTS, drafts);
  keep(ONCE, sent);
}

function letGo() { // the person goes elsewhere within the page: its fields are free for what comes
  for (const each of document.querySelectorAll("[data-typed]")) delete each.dataset.typed;
}

function bringBackDrafts() {
  const drafts = kept(DRAFTS);
  for (const each of drafts.size ? document.querySelectorAll(`form[method=post] :is(${TYPED})`) : []) {
    if (!isDraft(each) || !drafts.has(draftOf(each)) || each.dataset.typed !== undefined) continue;
    const before = each.value;
    each.value = drafts.get(draftOf(each));
    if (each.matches("select") && !each.value) { each.value = before; continue; } // that choice is there no more
    each.dataset.typed = "";
    each.closest("details")?.setAttribute("open", "");
  }
}

function keyFor(form, words) { // the same words again, after an answer that was lost, are the same message
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

// -- hearing of changes

function listen() {
  stopPolling();
  if (line) line.close();
  line = new EventSource(`/live?after=${encodeURIComponent(cursor)}`);
  line.addEventListener("open", () => { stopPolling(); heard(); linkIs("live", "Live"); });
  line.addEventListener("changed", (event) => { heard(); cursor = event.lastEventId; refresh(); });
  line.addEventListener("beat", heard);
  line.addEventListener("error", () => { // the browser tries again by itself, for as long as it thinks that of use
    lost();
    if (line && line.readyState === EventSource.CLOSED) { line = null; soon(); }
  });
}

function heard() { // a server that hangs keeps its lines open, and says nothing
  clearTimeout(watch);
  watch = setTimeout(() => { lost(); listen(); }, PATIENCE);
}

function lost() {
  linkIs("lost", "Connection lost; trying again");
  if (!poll) poll = setTimeout(pollOnce, POLL);
}

function soon() { setTimeout(() => { if (!line && !document.hidden) listen(); }, TRY_AGAIN); }

function startedAnew() { // its address may have been opened in another window by the next time
  stop();
  linkIs("lost", "bb web was started anew: open the address it printed");
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
    linkIs(isBack ? "live" : "polling", isBack ? "Live" : "Asking every two seconds");
    cursor = now;
    refresh(); // which costs nothing where nothing has changed
  } catch { linkIs("lost", "Connection lost; trying again"); }
}

function stopPolling() { clearTimeout(poll); poll = 0; }
function stop() { stopPolling(); clearTimeout(watch); if (line) line.close(); line = null; }

document.addEventListener("visibilitychange", () => { // a page that nobody sees keeps no line open: browsers have only six
  if (document.hidden) stop();
  else listen();
});

function toTheLatest() {
  const thread = document.querySelector(".drawer .thread");
  if (thread) thread.scrollTop = thread.scrollHeight;
}

// -- going somewhere, without loading it anew

async function go(address, isBack) {
  const opener = document.activeElement, key = opener && opener.closest("[data-key]")?.dataset.key;
  letGo();
  if (!isBack) history.pushState({ opener: key }, "", address);
  mark = refused = "";
  wanted++; // what was asked for until now is not wanted any more
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

// -- doing something

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
  if (sending.has(form)) return; // twice is once
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
    menu?.querySelector("summary").focus(); // or closing it would leave the focus nowhere
    mark = "";
    refresh();
  } catch { say("That could not be sent: the connection is lost. What you typed is still here.", true); }
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

window.addEventListener("pageshow", bringBackDrafts); // loaded, or brought back as it was left
tellAges(document);
toTheLatest();
setInterval(() => { if (!document.hidden) tellAges(document); }, AGES);
if (!document.hidden) listen();
