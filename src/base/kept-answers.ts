// Answers that are kept for whoever asks the same again: so many of them, and of texts as much as there is room for.

export interface KeptAnswersOptions {
  /** Of answers. */
  readonly most: number;
  /** Of characters: what was asked together with what the answers hold. */
  readonly room: number;
  /** One with more characters is found out anew each time. */
  readonly longest: number;
}

interface AboutAnswer {
  /** Characters of the answer; default: none that count. */
  readonly length?: number;
  /** Default: it holds until it makes room for others. */
  readonly untilMs?: number;
}

interface Kept<T> {
  readonly answer: T;
  readonly length: number;
  readonly untilMs: number;
}

export class KeptAnswers<T> {
  readonly #options: KeptAnswersOptions;
  /** The oldest first. */
  readonly #kept = new Map<string, Kept<T>>();
  #length = 0;

  constructor(options: KeptAnswersOptions) {
    this.#options = options;
  }

  get(question: string, nowMs = 0): T | undefined {
    const found = this.#kept.get(question);
    return found === undefined || found.untilMs <= nowMs ? undefined : found.answer;
  }

  put(question: string, answer: T, about: AboutAnswer = {}): void {
    const { length = 0, untilMs = Number.POSITIVE_INFINITY } = about;
    const { most, room, longest } = this.#options;
    this.#drop(question);
    const own = question.length + length;
    if (own > longest) return;
    this.#kept.set(question, { answer, length: own, untilMs });
    this.#length += own;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= most && this.#length <= room) return;
      this.#drop(oldest);
    }
  }

  clear(): void {
    this.#kept.clear();
    this.#length = 0;
  }

  #drop(question: string): void {
    this.#length -= this.#kept.get(question)?.length ?? 0;
    this.#kept.delete(question);
  }
}
