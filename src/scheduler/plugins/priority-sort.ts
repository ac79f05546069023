// PrioritySort: higher priority first, then who came first.
import type { Plugin } from '../framework/plugin.ts';

export const prioritySort: Plugin = {
  name: 'PrioritySort',
  less: (a, b) => a.priority > b.priority || (a.priority === b.priority && a.addedAt < b.addedAt),
};
