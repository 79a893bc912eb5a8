declare const process: { cpuUsage(since?: object): { readonly user: number } };

/** How many milliseconds this process computes for something; on a loaded machine a clock says more. */
export function effort(work: () => void): number {
  const began = process.cpuUsage();
  work();
  return process.cpuUsage(began).user / 1000;
}
