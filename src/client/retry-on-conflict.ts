// Tries a read-modify-write again while others win the race.
import { isStatusError } from '../apimachinery/errors.ts';

const maxAttempts = 5;

/** `attempt` reads afresh each time. The last conflict is thrown, as client-go's RetryOnConflict. */
export async function retryOnConflict<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = maxAttempts - 1; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0 || !isStatusError(error, 'Conflict')) throw error;
    }
  }
}
