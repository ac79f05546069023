// How many questions may be on their way to the resolvers outside: of all, and of one pod. Pure.

/** Each has a socket of its own. */
const maxAll = 1000;
/** Beyond it only sources that have few on their way. */
const maxOfMany = 800;
const few = 8;
const maxOfSource = 100;

export interface ForwardShares {
  /** False when it has to be refused; else `end` follows. */
  begin(source: string): boolean;
  end(source: string): void;
}

export function createForwardShares(): ForwardShares {
  const bySource = new Map<string, number>();
  let all = 0;
  return {
    begin: (source) => {
      const own = bySource.get(source) ?? 0;
      if (own >= maxOfSource || all >= (own < few ? maxAll : maxOfMany)) return false;
      bySource.set(source, own + 1);
      all++;
      return true;
    },
    end: (source) => {
      const left = (bySource.get(source) ?? 0) - 1;
      if (left > 0) bySource.set(source, left);
      else bySource.delete(source);
      all--;
    },
  };
}
