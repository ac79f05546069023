// How long-running set-up tells how far it is.

export interface Progress {
  /** Which part of the work: `wine packages`, `wine runtime`, `windows template` … */
  readonly step: string;
  readonly done: number;
  readonly total: number;
  /** One line for a person. */
  readonly text: string;
}

export type OnProgress = (progress: Progress) => void;
