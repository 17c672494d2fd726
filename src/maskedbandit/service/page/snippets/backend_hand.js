console.log(JSON.stringify(ann.device)); // hand this on to her page: it joins with it
await client.close();
