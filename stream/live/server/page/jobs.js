// A file on its way there and back, one at a time.

const LOOK_MS = 500, MOST_SILENT = 40;

export class Job extends EventTarget {
  constructor(file, { style, strength }) {
    super();
    this.file = file;
    this.over = false;
    this.silent = 0;
    this.#upload(`/api/jobs?style=${encodeURIComponent(style)}&strength=${strength}`);
  }

  get url() { return `/api/jobs/${this.id}/file`; }
  get name() { return this.file.name.replace(/\.[^.]*$/, "") + " painted" + (this.kind ?? ""); }

  drop() {
    this.over = true;
    this.request.abort();
    clearTimeout(this.timer);
    if (this.id) fetch(`/api/jobs/${this.id}`, { method: "DELETE" }).catch(() => {});
  }

  #upload(url) {
    const request = (this.request = new XMLHttpRequest());
    request.open("POST", url);
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => this.#emit("sending", loaded / total);
    request.onerror = () => this.#fail("The file could not be sent.");
    request.onload = () => {
      if (request.status !== 200) return this.#fail(request.response?.error ?? "The file was refused.");
      this.id = request.response.id;
      this.#look();
    };
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.send(this.file);
  }

  async #look() {
    if (this.over) return;
    try {
      const answer = await fetch(`/api/jobs/${this.id}`);
      const job = await answer.json();
      this.silent = 0;
      if (!answer.ok) return this.#fail(job.error);
      if (job.state === "failed") return this.#fail(job.reason);
      if (job.state === "done") { this.kind = job.kind; this.over = true; return this.#emit("done", job); }
      this.#emit("painting", job);
    } catch { // the network may come back
      if (++this.silent >= MOST_SILENT) return this.#fail("The server does not answer any more.");
    }
    this.timer = setTimeout(() => this.#look(), LOOK_MS);
  }

  #fail(reason) { this.over = true; this.#emit("failed", reason); }
  #emit(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }
}
