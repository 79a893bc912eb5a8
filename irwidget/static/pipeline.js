export async function render(){}
