// SPDX-License-Identifier: Apache-2.0
// onnxruntime.js MODEL OTHER... [-- INPUT=1,512 | INPUT:16000]... - does ONNX
// Runtime load each OTHER, and compute from it what it computes from MODEL, bit
// for bit? An input has the sizes given, 1 for those that the model leaves
// open; its numbers are small and always the same, or the one after the colon.
'use strict';
const ort = require('onnxruntime-node');

const ARRAYS = {
	float32: Float32Array, float64: Float64Array, int64: BigInt64Array,
	int32: Int32Array, int8: Int8Array, uint8: Uint8Array, bool: Uint8Array,
};

function feed(input, shapes, values) {
	const dims = shapes[input.name] ||
	    input.shape.map(d => typeof d === 'number' && d > 0 ? d : 1);
	const n = dims.reduce((a, b) => a * b, 1);
	const big = input.type === 'int64';
	const data = new ARRAYS[input.type](n);

	for (let i = 0, x = 1; i < n; i++) {
		x = x * 48271 % 2147483647;
		const v = input.name in values ? values[input.name] :
		    input.type.startsWith('float') ? x / 2147483647 - 0.5 : x % 2;
		data[i] = big ? BigInt(v) : v;
	}
	return new ort.Tensor(input.type, data, dims);
}

async function outputs(path, shapes, values) {
	const s = await ort.InferenceSession.create(path,
	    { logSeverityLevel: 4 });
	const feeds = {};

	for (const input of s.inputMetadata)
		feeds[input.name] = feed(input, shapes, values);
	const result = await s.run(feeds);
	const text = s.outputNames.map(name => {
		const data = result[name].data;
		const bytes = Buffer.from(data.buffer, data.byteOffset,
		    data.byteLength);

		return `${name} [${result[name].dims}] ${bytes.toString('hex')}`;
	});
	await s.release();
	return text.join('\n');
}

async function main(args) {
	const at = args.indexOf('--');
	const models = at < 0 ? args : args.slice(0, at);
	const shapes = {}, values = {};
	let failed = models.length < 2;

	for (const arg of at < 0 ? [] : args.slice(at + 1)) {
		const [name, sizes] = arg.split('=');

		if (sizes)
			shapes[name] = sizes.split(',').map(Number);
		else
			values[arg.split(':')[0]] = Number(arg.split(':')[1]);
	}
	const want = await outputs(models[0], shapes, values);
	for (const model of models.slice(1)) {
		try {
			if (await outputs(model, shapes, values) === want)
				continue;
			console.log(`FAIL ${model}: other outputs`);
		} catch (error) {
			console.log(`FAIL ${model}: ${error.message}`);
		}
		failed = true;
	}
	return failed ? 1 : 0;
}

main(process.argv.slice(2)).then(status => { process.exitCode = status; });
