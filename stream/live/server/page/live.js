// One camera on its way there and back. Emits "answer", "stats", "error" and "end".

const WANTED = { width: { ideal: 1280, max: 1280 }, height: { ideal: 720, max: 1280 }, frameRate: { ideal: 30, max: 30 } };
const FIRST_KBPS = 1500, MOST_BPS = 2_500_000;
const GATHER_MS = 1500;

export function openCamera(facing, device) {
  const choice = device ? { deviceId: { exact: device } } : { facingMode: facing };
  return navigator.mediaDevices.getUserMedia({ video: { ...WANTED, ...choice }, audio: false });
}

export class Live extends EventTarget {
  constructor(camera, wish) {
    super();
    this.camera = camera;
    this.closed = false;
    this.last = {};
    this.#open(wish).catch((error) => this.#fail(error.message));
  }

  paint(wish) { this.#send({ type: "paint", ...wish }); }

  async replace(camera) {
    this.camera = camera;
    await this.sender.replaceTrack(camera.getVideoTracks()[0]);
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.clock);
    this.socket?.close(1000);
    this.peer?.close();
    this.#emit("end");
  }

  async #open(wish) {
    this.peer = new RTCPeerConnection({ iceServers: [], bundlePolicy: "max-bundle" });
    this.peer.ontrack = ({ track, receiver, streams }) => {
      receiver.jitterBufferTarget = 0;
      if ("playoutDelayHint" in receiver) receiver.playoutDelayHint = 0;
      this.receiver = receiver;
      this.#emit("painted", streams[0] ?? new MediaStream([track]));
    };
    this.peer.onconnectionstatechange = () => {
      if (this.peer.connectionState === "failed") this.#fail("The connection for video was lost.");
    };
    await this.#offer();
    await this.#talk(wish);
    this.clock = setInterval(() => this.#measure().catch(() => {}), 1000);
  }

  async #offer() {
    const track = this.camera.getVideoTracks()[0];
    if ("contentHint" in track) track.contentHint = "motion";
    const way = this.peer.addTransceiver(track, { direction: "sendrecv", streams: [this.camera] });
    this.sender = way.sender;
    preferH264(way);
    await this.peer.setLocalDescription();
    await gathered(this.peer);
  }

  async #talk(wish) {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/api/live`);
    await new Promise((done, failed) => {
      this.socket.onopen = done;
      this.socket.onerror = async () => failed(new Error(await whyClosed()));
    });
    this.socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
    this.socket.onclose = () => this.#fail("The server hung up.");
    this.#send({ type: "offer", sdp: this.peer.localDescription.sdp, ...wish });
  }

  async #hear(message) {
    if (message.type === "error") return this.#fail(message.reason, true);
    if (message.type === "stats") { this.server = message; return; }
    if (message.type !== "answer") return;
    await this.peer.setRemoteDescription({ type: "answer", sdp: startFast(message.sdp) });
    await this.#limit();
  }

  async #limit() {
    const parameters = this.sender.getParameters();
    if (!parameters.encodings?.length) return;
    Object.assign(parameters.encodings[0], { maxBitrate: MOST_BPS, maxFramerate: 30 });
    parameters.degradationPreference = "maintain-resolution";
    await this.sender.setParameters(parameters).catch(() => {});
  }

  // How old the picture is: encoding here, both ways, painting there, waiting and decoding here.
  async #measure() {
    let sums = { encode: 0, encoded: 0, wait: 0, waited: 0, decode: 0, decoded: 0 }, rtt = 0;
    for (const one of (await this.peer.getStats()).values()) {
      if (one.type === "outbound-rtp") Object.assign(sums, { encode: one.totalEncodeTime ?? 0, encoded: one.framesEncoded ?? 0 });
      if (one.type === "inbound-rtp") Object.assign(sums, {
        wait: one.jitterBufferDelay ?? 0, waited: one.jitterBufferEmittedCount ?? 0,
        decode: one.totalDecodeTime ?? 0, decoded: one.framesDecoded ?? 0 });
      if (one.type === "candidate-pair" && one.nominated) rtt = one.currentRoundTripTime ?? 0;
    }
    const mean = (sum, count) => {
      const counted = sums[count] - (this.last[count] ?? 0);
      return counted > 0 ? (sums[sum] - (this.last[sum] ?? 0)) / counted : 0;
    };
    const fps = sums.decoded - (this.last.decoded ?? sums.decoded);
    const here = mean("encode", "encoded") + mean("wait", "waited") + mean("decode", "decoded");
    this.last = sums;
    if (!this.server) return;
    const ageMs = 1000 * (here + rtt) + this.server.age_ms.p50;
    this.#emit("stats", { ...this.server, fps, ageMs });
  }

  #send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  #fail(reason, final = false) {
    if (this.closed) return;
    this.#emit("error", { reason, final });
    this.close();
  }

  #emit(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }
}

// A socket that does not open tells scripts nothing of why.
async function whyClosed() {
  try {
    const { entered } = await (await fetch("/api/state")).json();
    return entered ? "All places are taken; try again later." : "Open the address that was printed at the start.";
  } catch {
    return "The server does not answer.";
  }
}

// The server encodes H.264 at half of VP8's cost.
function preferH264(way) {
  const known = RTCRtpReceiver.getCapabilities?.("video")?.codecs;
  if (!known || !way.setCodecPreferences) return;
  const rank = ({ mimeType, sdpFmtpLine = "" }) => {
    if (mimeType === "video/H264") return sdpFmtpLine.includes("packetization-mode=1") ? 0 : 2;
    return mimeType === "video/VP8" ? 1 : mimeType === "video/rtx" ? 3 : 9;
  };
  way.setCodecPreferences(known.filter((codec) => rank(codec) < 9).sort((a, b) => rank(a) - rank(b)));
}

// Chromium begins at 300 kbit/s and takes seconds to find out that a local network carries more.
function startFast(sdp) {
  return sdp.replace(/^(a=fmtp:\d+ (?!apt).*)$/gm, `$1;x-google-start-bitrate=${FIRST_KBPS}`);
}

function gathered(peer) {
  return new Promise((done) => {
    if (peer.iceGatheringState === "complete") return done();
    setTimeout(done, GATHER_MS);
    peer.addEventListener("icegatheringstatechange", () => peer.iceGatheringState === "complete" && done());
  });
}
