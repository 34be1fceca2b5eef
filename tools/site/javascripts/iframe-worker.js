// Search without a server: browsers start no worker from a file, so what would be one runs in a hidden frame.
// Material asks for `IFrameWorker` in the parent and expects importScripts to return a promise.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inner = frame.contentWindow
      const load = source => new Promise((resolve, reject) => {
        const script = inner.document.createElement("script")
        script.src = source
        script.onload = resolve
        script.onerror = reject
        inner.document.body.append(script)
      })
      inner.importScripts = (...sources) => sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve())
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.send = data => inner.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = load(url)
    }
    postMessage(data) { this.ready.then(() => this.send(data)) }
    terminate() {}
  }
  window.Worker = window.IFrameWorker
}
