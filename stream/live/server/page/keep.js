// Pictures and recordings of what is shown, kept by the browser: nothing is sent for it.

const TYPES = ["video/mp4;codecs=avc1.42E01F", "video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];
const RECORD_BPS = 8_000_000;

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function stamped(name, ending) {
  const now = new Date(Date.now() - new Date().getTimezoneOffset() * 60_000);
  return `sfumato ${name} ${now.toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".")}.${ending}`;
}

export function snapshot(video) {
  const canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d").drawImage(video, 0, 0);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export class Recording {
  constructor(stream) {
    this.type = TYPES.find((type) => window.MediaRecorder?.isTypeSupported(type));
    if (!this.type) throw new Error("This browser cannot record.");
    this.parts = [];
    this.recorder = new MediaRecorder(stream, { mimeType: this.type, videoBitsPerSecond: RECORD_BPS });
    this.recorder.ondataavailable = ({ data }) => this.parts.push(data);
    this.recorder.start(1000);
  }

  get ending() { return this.type.startsWith("video/mp4") ? "mp4" : "webm"; }

  async stop() {
    if (this.recorder.state !== "inactive") {
      const stopped = new Promise((done) => this.recorder.addEventListener("stop", done, { once: true }));
      this.recorder.stop();
      await stopped;
    }
    return new Blob(this.parts, { type: this.type });
  }
}
