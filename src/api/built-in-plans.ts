// How the types of the API are read and written, made once for whoever has no scheme at hand.
import type { PlanSource } from '../apimachinery/plan.ts';
import { createPlans } from '../apimachinery/schema-plan.ts';
import { once } from '../base/once.ts';
import { schemaSource } from './schema-source.ts';

export const builtInPlans: () => PlanSource = once(() => createPlans(schemaSource));
