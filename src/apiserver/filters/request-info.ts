// Works out what is asked for. A path that names nothing is refused here.
import type { Filter } from './filter.ts';

export const requestInfoFilter: Filter = (next) => (context) => {
  context.readInfo();
  return next(context);
};
