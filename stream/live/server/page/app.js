// The page: choices, the camera's states, files, keys.

import { Compare } from "/compare.js";
import { Job } from "/jobs.js";
import { Recording, save, snapshot, stamped } from "/keep.js";
import { Live, openCamera } from "/live.js";

const $ = (id) => document.getElementById(id);
const stage = $("stage"), before = $("before"), after = $("after");
const compare = new Compare(stage, $("divider"));
const RETRIES_MS = [1000, 2000, 4000, 8000];
const SLOW_MS = 250;
const STILL_MS = 2500;

let state, live = null, camera = null, recording = null, job = null, facing = "user", tries = 0, retryTimer = 0;

// ---- coming in ----

async function enter(token) {
  const answer = await fetch("/api/enter", { method: "POST", body: JSON.stringify({ token }) });
  return answer.ok;
}

async function comeIn() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  if (token) history.replaceState(null, "", location.pathname);
  state = await (await fetch("/api/state")).json();
  if ((!state.entered || token) && !(await enter(token)) && !state.entered) $("gate").showModal();
  showChoices();
}

// A server that was started anew does not know us.
async function comeBack() {
  const { entered } = await (await fetch("/api/state")).json();
  if (!entered && !(await enter("")) && !$("gate").open) $("gate").showModal();
}

$("gate").addEventListener("cancel", (event) => event.preventDefault());
$("gate").querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await enter($("token").value.trim())) $("gate").close();
  else $("gate-say").textContent = "That is not the token of this start.";
});

// ---- choices ----

function showChoices() {
  const gallery = $("gallery");
  gallery.replaceChildren(...state.styles.map(({ style, name, thumb }) => {
    const label = document.createElement("label");
    label.className = "style";
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "style", value: style, checked: style === state.style });
    const picture = Object.assign(document.createElement("img"), { src: thumb, alt: "", width: 576, height: 384, loading: "lazy" });
    const text = Object.assign(document.createElement("span"), { textContent: name });
    label.append(picture, input, text);
    return label;
  }));
  $("strength").value = Math.round(state.strength * 100);
  $("limits").textContent = `up to ${Math.round(state.max_upload_bytes / 1e6)} MB, ${Math.round(state.max_clip_s / 60)} min`;
  showStrength();
  showStyle();
  document.querySelector("[name=style]:checked")?.parentElement.scrollIntoView({ block: "nearest", inline: "center" });
}

const chosen = () => document.querySelector("[name=style]:checked")?.value ?? state.style;
const strength = () => Number($("strength").value) / 100;
const wish = () => ({ style: chosen(), strength: strength() });

function showStyle() {
  const { name, thumb } = state.styles.find(({ style }) => style === chosen()) ?? state.styles[0];
  $("poster").src = thumb;
  document.querySelector(".tag-after").textContent = name;
}

function showStrength() { $("strength-text").textContent = `${$("strength").value} %`; }

$("gallery").addEventListener("change", () => { showStyle(); live?.paint(wish()); });
$("strength").addEventListener("input", () => { showStrength(); live?.paint(wish()); });

// ---- the camera ----

function show(name, text) {
  stage.dataset.state = name;
  if (text) $("say").textContent = text;
  const busy = name === "waiting";
  $("start").disabled = busy;
  $("start").querySelector("span").textContent = busy ? "One moment" : "Start camera";
}

function cameraTrouble(error) {
  if (!window.isSecureContext) return "Browsers give the camera to secure pages only: start Sfumato with --tls and open the https address.";
  if (error?.name === "NotAllowedError") return "The camera was not allowed. Allow it in the browser's address bar and start again.";
  if (error?.name === "NotFoundError") return "No camera was found. A file can be painted all the same.";
  if (error?.name === "NotReadableError") return "The camera is in use by another program.";
  return `The camera did not start: ${error?.message ?? error}`;
}

async function start() {
  show("waiting", "Asking for the camera");
  try {
    if (!navigator.mediaDevices) throw new Error("no secure page");
    camera ??= await openCamera(facing);
  } catch (error) {
    return show("idle", cameraTrouble(error));
  }
  before.srcObject = camera;
  camera.getVideoTracks()[0].addEventListener("ended", () => stop("The camera was taken away."));
  stage.classList.toggle("mirrored", facing === "user" && $("mirror").ariaPressed === "true");
  offerTurn();
  connect();
}

function connect() {
  show("waiting", tries ? "Connecting again" : "Mixing the colours");
  live = new Live(camera, wish());
  live.addEventListener("painted", ({ detail }) => { after.srcObject = detail; });
  live.addEventListener("stats", ({ detail }) => showFigures(detail));
  live.addEventListener("error", ({ detail }) => lost(detail));
}

async function lost({ reason, final }) {
  const wait = RETRIES_MS[tries++];
  await comeBack().catch(() => {});
  if (final || wait === undefined || !camera) return stop(reason);
  show("waiting", `${reason} Trying again.`);
  retryTimer = setTimeout(connect, wait);
}

async function stop(text = "Choose a style, then start.") {
  clearTimeout(retryTimer);
  await stopRecording();
  live?.close();
  camera?.getTracks().forEach((track) => track.stop());
  live = camera = null;
  tries = 0;
  before.srcObject = after.srcObject = null;
  show("idle", text);
}

after.addEventListener("playing", () => { tries = 0; show("live"); });
after.addEventListener("resize", () => {
  if (!after.videoWidth) return;
  stage.style.setProperty("--aspect", `${after.videoWidth} / ${after.videoHeight}`);
  stage.style.setProperty("--ratio", after.videoWidth / after.videoHeight);
});

function showFigures({ fps, ageMs, scale }) {
  const size = scale < 1 ? ` · ${Math.round(scale * 100)} % size` : "";
  $("figures-text").textContent = `${Math.round(fps)} fps · ${Math.round(ageMs)} ms${size}`;
  $("figures").title = "Pictures per second, and how old the picture is that you see";
  stage.dataset.pace = ageMs > SLOW_MS ? "slow" : "good";
}

async function offerTurn() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  $("turn").hidden = devices.filter(({ kind }) => kind === "videoinput").length < 2;
}

async function turn() {
  const devices = (await navigator.mediaDevices.enumerateDevices()).filter(({ kind }) => kind === "videoinput");
  const now = camera.getVideoTracks()[0].getSettings().deviceId;
  const next = devices[(devices.findIndex(({ deviceId }) => deviceId === now) + 1) % devices.length];
  camera.getTracks().forEach((track) => track.stop());
  try {
    camera = await openCamera(facing, next.deviceId);
  } catch (error) {
    return stop(cameraTrouble(error));
  }
  facing = camera.getVideoTracks()[0].getSettings().facingMode === "environment" ? "environment" : "user";
  stage.classList.toggle("mirrored", facing === "user");
  before.srcObject = camera;
  await live?.replace(camera);
}

// ---- keeping ----

async function startRecording() {
  try {
    recording = new Recording(after.srcObject);
  } catch (error) {
    return void ($("record").title = error.message);
  }
  $("record").ariaPressed = "true";
  stage.classList.add("recording");
}

async function stopRecording() {
  if (!recording) return;
  const { ending } = recording, made = await recording.stop();
  recording = null;
  $("record").ariaPressed = "false";
  stage.classList.remove("recording");
  save(made, stamped(chosen(), ending));
}

async function takePicture() { save(await snapshot(after), stamped(chosen(), "png")); }

function toggleFull() {
  if (document.fullscreenElement) document.exitFullscreen();
  else if (stage.requestFullscreen) stage.requestFullscreen();
  else after.webkitEnterFullscreen?.();
}

function toggle(button) {
  button.ariaPressed = String(button.ariaPressed !== "true");
  return button.ariaPressed === "true";
}

const DO = {
  start, stop: () => stop(), turn, shot: takePicture, full: toggleFull,
  mirror: () => stage.classList.toggle("mirrored", toggle($("mirror"))),
  compare: () => stage.classList.toggle("comparing", toggle($("compare"))),
  record: () => (recording ? stopRecording() : startRecording()),
};
for (const [id, act] of Object.entries(DO)) $(id).addEventListener("click", act);
stage.classList.add("comparing");

const KEYS = { c: "compare", m: "mirror", s: "shot", r: "record", f: "full" };
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("gate").open || event.target.matches("input:not([type=radio],[type=range]), textarea")) return;
  if (event.key >= "1" && event.key <= "9") document.querySelectorAll("[name=style]")[event.key - 1]?.click();
  else if (KEYS[event.key] && stage.dataset.state === "live") $(KEYS[event.key]).click();
});

let stillTimer = 0;
stage.addEventListener("pointermove", () => {
  stage.classList.remove("still-mouse");
  clearTimeout(stillTimer);
  stillTimer = setTimeout(() => stage.classList.add("still-mouse"), STILL_MS);
});

// ---- files ----

function paintFile(file) {
  job?.drop();
  job = new Job(file, wish());
  $("job").hidden = false;
  $("job-name").textContent = file.name;
  $("job-view").replaceChildren();
  $("job-save").hidden = true;
  sayJob("Sending", 0);
  const mine = job, on = (name, act) => job.addEventListener(name, ({ detail }) => mine === job && act(detail));
  on("sending", (share) => sayJob(share < 1 ? `Sending, ${Math.round(share * 100)} %` : "Opening", share));
  on("painting", ({ frames = 0, of, fps }) => {
    const left = of && fps ? `, ${duration((of - frames) / fps)} left` : "";
    sayJob(frames ? `Painting ${frames}${of ? ` of ${of}` : ""} pictures${left}` : "Preparing", of ? frames / of : undefined);
  });
  on("failed", (reason) => sayJob(reason, 0, true));
  on("done", showPainted);
}

function showPainted({ frames, seconds, kind }) {
  sayJob(`${frames} ${frames === 1 ? "picture" : "pictures"} painted in ${duration(seconds)}.`, 1);
  const still = kind === ".png";
  const view = Object.assign(document.createElement(still ? "img" : "video"), { src: job.url });
  Object.assign(view, still ? { alt: "The painted picture" } : { controls: true, playsInline: true, loop: true });
  $("job-view").replaceChildren(view);
  Object.assign($("job-save"), { href: job.url, download: job.name, hidden: false });
}

function sayJob(text, share, bad = false) {
  $("job-say").textContent = text;
  $("job-say").classList.toggle("bad", bad);
  $("job-bar").hidden = bad || share === 1;
  if (share === undefined) $("job-bar").removeAttribute("value");
  else $("job-bar").value = share;
}

function duration(seconds) {
  return seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
}

$("file").addEventListener("change", ({ target }) => { if (target.files[0]) paintFile(target.files[0]); target.value = ""; });
$("job-drop").addEventListener("click", () => { job?.drop(); job = null; $("job").hidden = true; $("file").focus(); });
let depth = 0;
addEventListener("dragenter", (event) => { event.preventDefault(); depth++; document.body.classList.add("dropping"); });
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("dragleave", () => { if (--depth <= 0) document.body.classList.remove("dropping"); });
addEventListener("drop", (event) => {
  event.preventDefault();
  depth = 0;
  document.body.classList.remove("dropping");
  const file = event.dataTransfer.files[0];
  if (file) paintFile(file);
});

// ---- light and dark ----

function showTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}
$("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  localStorage.setItem("theme", dark ? "light" : "dark");
  showTheme(localStorage.getItem("theme"));
});
showTheme(localStorage.getItem("theme"));

addEventListener("pagehide", () => live?.close());
comeIn().catch(() => show("idle", "The server does not answer."));
