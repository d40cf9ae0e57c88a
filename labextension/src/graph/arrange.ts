/** Layouts from a worker, or from the page's thread where workers are forbidden. */

import { type Layout, layout, type Plan } from "./layout";

interface Answer {
  id: number;
  layout?: Layout;
  error?: string;
}

/** The rejection of a layout that a newer request has replaced, or whose graph is gone. */
export class Outdated extends Error {}

type Waiting = { id: number; plan: Plan; done(layout: Layout): void; failed(error: Error): void };

export class Arranger {
  private worker: Worker | null = null;
  private url = "";
  private waiting: Waiting | null = null;
  private last = 0;
  private forbidden = false;

  /** `code`: the worker's bundled script. Empty where there is none. */
  constructor(private readonly code: string) {}

  /** The thread of the last layout. */
  get thread(): "worker" | "page" {
    return this.worker ? "worker" : "page";
  }

  arrange(plan: Plan): Promise<Layout> {
    this.waiting?.failed(new Outdated());
    return new Promise((done, failed) => {
      const waiting = { id: ++this.last, plan, done, failed };
      this.waiting = waiting;
      const worker = this.start();
      if (worker) worker.postMessage({ id: waiting.id, plan });
      else this.here();
    });
  }

  dispose(): void {
    this.waiting?.failed(new Outdated());
    this.waiting = null;
    this.stop();
  }

  private start(): Worker | null {
    if (this.worker || this.forbidden || !this.code || typeof Worker === "undefined")
      return this.worker;
    try {
      this.url = URL.createObjectURL(new Blob([this.code], { type: "text/javascript" }));
      this.worker = new Worker(this.url);
    } catch {
      this.forbid();
      return null;
    }
    this.worker.onmessage = (event: MessageEvent<Answer>) => this.answer(event.data);
    // A page's policy that forbids workers is reported here, not by the constructor.
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.forbid();
      this.here();
    };
    return this.worker;
  }

  private answer({ id, layout, error }: Answer): void {
    const waiting = this.waiting;
    if (waiting?.id !== id) return;
    this.waiting = null;
    if (layout) waiting.done(layout);
    else waiting.failed(new Error(error ?? "The layout worker returned no layout."));
  }

  private here(): void {
    const waiting = this.waiting;
    if (!waiting) return;
    this.waiting = null;
    try {
      waiting.done(layout(waiting.plan));
    } catch (error) {
      waiting.failed(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private forbid(): void {
    this.forbidden = true;
    this.stop();
  }

  private stop(): void {
    this.worker?.terminate();
    this.worker = null;
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = "";
  }
}
